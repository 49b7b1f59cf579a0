// SPDX-License-Identifier: MIT
// Pictures as SVG, and a result's files.
#pragma once

#include "tools/lab/lab.h"

namespace ordo::lab {

// The whole picture, without its title: a page has that as text beside it. It needs no other file and has no ids, so
// that a page can contain several.
std::string svg_of(const Picture& picture);

// The stem of a result's file names. It has only letters, digits, dots and dashes, whatever the parts contain.
std::string file_stem(const Experiment& experiment, std::string_view name);

// Also makes the parent directories. Throws Error(io).
void make_directory(const std::filesystem::path& directory);

// Writes a CSV file for every table and picture into one folder, and an SVG file for every picture into another, which
// are made as needed. Throws Error.
void write_files(const Experiment& experiment, const Result& result, const std::filesystem::path& data,
                 const std::filesystem::path& pictures);

} // namespace ordo::lab
