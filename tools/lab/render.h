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

// files: where the pictures are, with a slash at the end ("pictures/"); empty: they are drawn in characters.
std::string markdown_of(const Experiment& experiment, const Result& result, const std::string& command,
                        const std::string& files = {});

// The tables one after another; if there is more than one, each after a line "# NAME: TITLE". Without any, the
// pictures in their place.
std::string csv_of(const Result& result);

tools::OrderedJson json_of(const Experiment& experiment, const Result& result, const std::string& command);

// The numbers of a picture: x, y and the interval of each series, or the matrix with its names.
tools::Figures figures_of(const Picture& picture);

} // namespace ordo::lab
