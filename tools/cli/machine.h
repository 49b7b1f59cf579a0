// SPDX-License-Identifier: MIT
// The options of every verb, and their effects on the process.
#pragma once

#include "ordo.h"
#include "tools/cli/options.h"

namespace ordo::tools {

inline constexpr int max_threads = 1024;

inline constexpr Option common_options[] = {
    {Kind::integer, "t,threads", "N", 1, max_threads,
     "The number of threads. Default: OMP_NUM_THREADS, or one for each physical core."},
    {Kind::choice, "isa", "NAME=auto",
     "auto|baseline|avx2|avxvnni|avx512|avx512vnni|avx512bf16|amx|neon|dotprod: the instruction set of the kernels."},
    {"q,quiet", "Print only errors on stderr."},
    {"v,verbose", "Print more on stderr."},
    {"h,help", "Print this help."},
    {"version", "Print the version and the libraries."},
};
inline constexpr OptionGroup common_group{"Common", common_options};
// For verbs that compute nothing: without threads and kernels.
static_assert(common_options[2].name == "quiet");
inline constexpr OptionGroup plain_group{"Common", std::span(common_options).subspan(2)};

// The cores that this process may use. Hardware threads of one core count once; the quotas of its control groups count,
// rounded. At least one for each place of OpenMP. root: the folder with proc/ and sys/.
int physical_cores(const std::filesystem::path& root = "/");

// Applies the threads and the kernels of the common options.
void apply_common(const Arguments& arguments);

// Sets one thread for generating token by token, if the model is small and neither option nor environment gives a
// number. On a busy machine a second thread would not make it faster.
void choose_threads(const Arguments& arguments, const Model& model);

// Several lines, for --version.
std::string version_text();

} // namespace ordo::tools
