// SPDX-License-Identifier: MIT
// The options that every verb takes, and what they do to the process.
#pragma once

#include "ordo.h"
#include "tools/cli/options.h"

namespace ordo::tools {

inline constexpr int max_threads = 1024;

inline constexpr Option common_options[] = {
    {.letter = 't',
     .name = "threads",
     .kind = Kind::integer,
     .value = "N",
     .least = 1,
     .most = max_threads,
     .help = "The number of threads. Default: OMP_NUM_THREADS, or one for each physical core."},
    {.name = "isa",
     .kind = Kind::choice,
     .value = "NAME",
     .fallback = "auto",
     .help = "auto|baseline|avx2|avxvnni|avx512|avx512vnni|avx512bf16|amx|neon|dotprod: the instruction set of the "
             "kernels."},
    {.letter = 'q', .name = "quiet", .help = "Print only errors on stderr."},
    {.letter = 'v', .name = "verbose", .help = "Print more on stderr."},
    {.letter = 'h', .name = "help", .help = "Print this help."},
    {.name = "version", .help = "Print the version and the libraries."},
};
inline constexpr OptionGroup common_group{"Common", common_options};
// Of a verb that computes nothing: without threads and kernels.
static_assert(common_options[2].name == "quiet");
inline constexpr OptionGroup plain_group{"Common", std::span(common_options).subspan(2)};

// Cores that this process may run on: hardware threads that share a core count once, and the quotas of its control
// groups count, rounded. root: the folder in which proc/ and sys/ lie.
int physical_cores(const std::filesystem::path& root = "/");

// Sets the threads and the kernels that the common options ask for.
void apply_common(const Arguments& arguments);

// One thread for tokens that come one by one, if the model is small and nobody said how many: beside another busy
// program a second one wins nothing on it.
void choose_threads(const Arguments& arguments, const Model& model);

// Several lines, for --version.
std::string version_text();

} // namespace ordo::tools
