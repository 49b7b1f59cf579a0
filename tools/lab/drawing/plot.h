// SPDX-License-Identifier: MIT
// Pictures as files, through gnuplot, and their numbers as CSV.
#pragma once

#include "tools/lab/lab.h"

#include <filesystem>

namespace ordo::lab {

// The stem of a result's file names. It has only letters, digits, dots and dashes, whatever the parts contain.
std::string file_stem(const Experiment& experiment, std::string_view name);

// A script for gnuplot 5 that contains the numbers and writes STEM.svg and STEM.png into the current directory. Only
// the PNG has the title: a page has it as text next to the SVG.
std::string plot_script(const Picture& picture, const std::string& stem);

// Runs a script in its directory. False without gnuplot. Throws Error(failure) with gnuplot's output on a failure.
bool run_gnuplot(const std::filesystem::path& script);

// Also makes the parent directories. Throws Error(io).
void make_directory(const std::filesystem::path& directory);

// The folders of a result's files; they are made as needed.
struct Folders {
    std::filesystem::path data, pictures; // CSV; scripts, SVG and PNG
};
// Writes a CSV file for every table and picture, and a script, SVG and PNG for every picture. False if pictures could
// not be drawn because gnuplot is missing. Calls progress before each picture. Throws Error.
bool write_files(const Experiment& experiment, const Result& result, const Folders& folders,
                 const std::function<void(const std::string&)>& progress);

// The remedy for a missing gnuplot.
inline constexpr std::string_view no_gnuplot =
    "gnuplot not found: pictures are left as scripts (*.gp) and CSV; apt-get install gnuplot-nox, and run the scripts";

} // namespace ordo::lab
