// SPDX-License-Identifier: MIT
// All experiments as one page.
#pragma once

#include "tools/lab/lab.h"

namespace ordo::lab {

// The outcome of an experiment: a result or an error.
struct Outcome {
    const Experiment* experiment = nullptr;
    std::string command = {}; // runs this experiment alone
    Result result = {};
    std::string error = {}; // empty: there is a result
    double seconds = 0;
};

// The setup in which the figures were measured.
struct Setting {
    std::string versions; // lines
    std::string machine;
    std::string command; // of the report
};

inline constexpr std::string_view page_title = "Positional encodings by experiment";
// The first paragraphs of the page, for a reader who knows attention.
std::vector<std::string> introduction(std::size_t questions, const Setting& setting);
// The page with its pictures.
std::string page_html(std::span<const Outcome> outcomes, const Setting& setting);
// The pages beside it, by file name: one for each table of many sentences.
std::vector<std::pair<std::string, std::string>> own_pages(std::span<const Outcome> outcomes);
// The same as Markdown with links to the files in pictures/.
std::string page_markdown(std::span<const Outcome> outcomes, const Setting& setting);

// The names of the pages. A stopped run writes pages with other names, and keeps an earlier run's pages.
struct PageNames {
    const char *html, *markdown;
};
constexpr PageNames page_names(bool partial) {
    return partial ? PageNames{"index.partial.html", "report.partial.md"} : PageNames{"index.html", "report.md"};
}

// Runs experiments and writes the pages, pictures/ and data/ into a directory. Files with other names stay, and so does
// the target of a link with one of these names. Returns the exit code: nonzero if an experiment failed,
// tools::stop_code() for a partial report. A failure or Ctrl-C keeps the results of the other experiments. Throws Error
// if a page cannot be written.
int write_report(const tools::Arguments& arguments, const std::filesystem::path& directory,
                 std::span<const Experiment* const> list);

// Quotes text as one word of a POSIX shell.
std::string shell_word(const std::string& text);
// The command that repeats an experiment, with the options that affect its result.
std::string command_of(std::string_view experiment, const tools::Arguments& arguments);

} // namespace ordo::lab
