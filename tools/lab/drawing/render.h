// SPDX-License-Identifier: MIT
// A result as text for a terminal, Markdown, CSV or JSON.
#pragma once

#include "tools/lab/lab.h"

namespace ordo::lab {

// The abilities of a terminal.
struct Screen {
    int width = 80;          // columns
    bool color = false;      // of 256
    bool true_color = false; // of 16 million
    std::size_t rows = 128;  // of a heat map, at most
    int lines = 20;          // of curves
};
// The screen of stdout. Without a terminal, or with NO_COLOR, it has no colour.
Screen screen_of_stdout();

// The answer comes first. Without `all`, as many pictures, tables and findings follow as fit on a screen of 40 lines.
std::string text_of(const Experiment& experiment, const Result& result, Screen screen, bool all = false);

// pictures: the folder of the SVG files, as in a link. Without it, pictures are drawn in characters.
std::string markdown_of(const Experiment& experiment, const Result& result, const std::string& command,
                        const std::string& pictures = {});

// The tables, then the numbers of the pictures, one after another. If there are several, each follows a line
// "# NAME: TITLE".
std::string csv_of(const Result& result);

std::string json_of(const Experiment& experiment, const Result& result, const std::string& command);

// Escapes text for XML and HTML.
std::string escaped_html(std::string_view text);

// The axes of a picture in words, in place of the picture.
std::string axes_text(const Picture& picture);

// Whether a row has a sentence, which would not fit into a narrow column.
bool has_sentences(const tools::Figures& figures);

// Rounds numbers to six digits for reading. CSV and JSON keep all digits.
tools::Figures for_readers(tools::Figures figures);

// "40 s", "2.5 min", "12 min"
std::string duration_text(double seconds);

// The numbers of a picture: x, y and the interval of each series, or the matrix with its names.
tools::Figures figures_of(const Picture& picture);

} // namespace ordo::lab
