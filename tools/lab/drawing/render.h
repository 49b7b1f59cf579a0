// SPDX-License-Identifier: MIT
// A result as text for a terminal, Markdown, CSV or JSON.
#pragma once

#include "tools/lab/lab.h"

namespace ordo::lab {

// What a terminal can show.
struct Screen {
    int width = 80;          // columns
    bool color = false;      // of 256
    bool true_color = false; // of 16 million
};
// That of stdout: without a terminal, or with NO_COLOR, there is none.
Screen screen_of_stdout();

std::string text_of(const Experiment& experiment, const Result& result, const Screen& screen);

// pictures: the folder that their SVG files are in, and link what the text calls it; what has no file is drawn in
// characters.
std::string markdown_of(const Experiment& experiment, const Result& result, const std::string& command,
                        const std::filesystem::path& pictures = {}, const std::string& link = {});

// Text as Markdown shows it, where a tag would begin at < and a link at [.
std::string escaped_markdown(std::string_view text);

// The tables and then the numbers of the pictures, one after another; if there is more than one, each after a line
// "# NAME: TITLE".
std::string csv_of(const Result& result);

std::string json_of(const Experiment& experiment, const Result& result, const std::string& command);

// A picture in characters, the title first.
std::string text_of(const Picture& picture, const Screen& screen);

// Numbers to six digits, as many as a reader can use. CSV and JSON have all of them.
tools::Figures for_readers(tools::Figures figures);

// "40 s", "2.5 min", "12 min"
std::string duration_text(double seconds);

// All of a file; empty if there is none.
std::string file_text(const std::filesystem::path& path);

// The numbers of a picture: x, y and the interval of each series, or the matrix with its names.
tools::Figures figures_of(const Picture& picture);

} // namespace ordo::lab
