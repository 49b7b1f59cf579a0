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

// Runs experiments and writes index.html, report.md, pictures/ and data/ into a directory; files of other names
// there stay as they are. Returns the exit code, which is not 0 if an experiment failed. That loses none of the
// others, nor does Ctrl-C those that are done. Throws Error if a page cannot be written.
int write_report(const tools::Arguments& arguments, const std::filesystem::path& directory,
                 std::span<const Experiment* const> list);

// The command that runs an experiment again, with the options that matter to its result.
std::string command_of(std::string_view experiment, const tools::Arguments& arguments);

} // namespace ordo::lab
