// SPDX-License-Identifier: MIT
// Command lines that are wrong in a known way: the errors say what was probably meant.
#pragma once

#include "tools/cli/options.h"

namespace ordo::tools {

// Throws Error(usage) with the option that was probably meant, also if it is one of another program.
[[noreturn]] void unknown_option(const Verb& verb, const std::string& name);
// A letter takes the rest of its word as its value: -ngl would be -n gl. Throws for such a word of another program.
void check_words(const Verb& verb, std::span<const char* const> args);
// Throws Error(usage) for a list with spaces: "--encodings none rope alibi", "--length 128 256".
void expect_commas(const Verb& verb, std::span<const char* const> args);

// For a file that is not there, named like an encoding or like shipped weights: "; did you mean --encoding rope or
// /usr/share/ordo/weights/rope.safetensors?". Otherwise empty. option: takes an encoding; empty: none does.
std::string likely_model(const std::string& name, std::string_view option);
// Throws Error(io) with it for the models of a command line.
void check_models(const Arguments& arguments);

// The width of a head. Throws Error(usage) that names the given one of --dim and --heads.
int head_width(const Arguments& arguments, int dim, int heads);

} // namespace ordo::tools
