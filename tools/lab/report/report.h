// SPDX-License-Identifier: MIT
// All experiments as one page.
#pragma once

#include "tools/lab/lab.h"

namespace ordo::lab {

// What an experiment came to: a result, or the error that it ended with.
struct Outcome {
    const Experiment* experiment = nullptr;
    std::string command = {}; // that runs it alone
    Result result = {};
    std::string error = {}; // empty: there is a result
    double seconds = 0;
};

// What the figures were taken with.
struct Setting {
    std::string versions; // lines
    std::string machine;
    std::string command; // of the report
};

// The page, with the pictures in it: the SVG files of a folder, and what has none in characters.
std::string page_html(std::span<const Outcome> outcomes, const Setting& setting, const std::filesystem::path& pictures);
// The same as Markdown, which names the files in pictures/.
std::string page_markdown(std::span<const Outcome> outcomes, const Setting& setting,
                          const std::filesystem::path& pictures);
// Text as HTML shows it.
std::string escaped_html(std::string_view text);

// The names of the pages. A run that was stopped writes pages of other names, and leaves those of an earlier one.
struct PageNames {
    const char *html, *markdown;
};
constexpr PageNames page_names(bool partial) {
    return partial ? PageNames{"index.partial.html", "report.partial.md"} : PageNames{"index.html", "report.md"};
}

// Runs experiments and writes the pages, pictures/ and data/ into a directory. Files of other names there stay as they
// are, and so does the file behind a link of one of these names. Returns the exit code: not 0 if an experiment failed,
// tools::stop_code() for a partial report. A failure loses none of the other experiments, nor does Ctrl-C those that
// are done. Throws Error if a page cannot be written.
int write_report(const tools::Arguments& arguments, const std::filesystem::path& directory,
                 std::span<const Experiment* const> list);

// The command that runs an experiment again, with the options that matter to its result.
std::string command_of(std::string_view experiment, const tools::Arguments& arguments);

} // namespace ordo::lab
