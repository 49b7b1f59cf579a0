// SPDX-License-Identifier: MIT
// Pictures as files, through gnuplot, and the numbers behind them as CSV.
#pragma once

#include "tools/lab/lab.h"

namespace ordo::lab {

// The names of a result's files: letters, digits, dots and dashes only, whatever the parts hold.
std::string file_stem(const Experiment& experiment, std::string_view name);

// A script for gnuplot 5 that holds the numbers itself and writes STEM.svg and STEM.png where it is run.
std::string plot_script(const Picture& picture, const std::string& stem);

// Runs a script of this name in its directory. False if there is no gnuplot; throws Error(failure) with what it
// printed if it fails.
bool run_gnuplot(const std::filesystem::path& script);

// With those above it. Throws Error(io).
void make_directory(const std::filesystem::path& directory);

// Where a result's files go; the directories are made as needed.
struct Folders {
    std::filesystem::path data, pictures; // CSV; scripts, SVG and PNG
};
// A CSV file for every table and every picture, and for every picture its script, SVG and PNG. False if the
// pictures could not be drawn for want of gnuplot. progress is called before each picture. Throws Error.
bool write_files(const Experiment& experiment, const Result& result, const Folders& folders,
                 const std::function<void(const std::string&)>& progress);

// What to do about it.
inline constexpr std::string_view no_gnuplot =
    "gnuplot not found: pictures are left as scripts (*.gp) and CSV; apt-get install gnuplot-nox, and run the scripts";

} // namespace ordo::lab
