// SPDX-License-Identifier: MIT
// RoPE's frequencies from the command line, under llama.cpp's names. They replace the values in the model's file.
#pragma once

#include "tools/cli/options.h"

namespace ordo::tools {

inline constexpr Option rope_options[] = {
    {.name = "rope-scaling",
     .kind = Kind::choice,
     .value = "METHOD",
     .help = "none|linear|ntk|dynamic|yarn: the scaling of frequencies. Default: as in the file, or linear."},
    {.name = "rope-scale",
     .kind = Kind::number,
     .value = "N",
     .least = 0.001,
     .most = 1'000'000,
     .help = "The factor by which the context becomes longer."},
    {.name = "rope-freq-base",
     .kind = Kind::number,
     .value = "N",
     .least = 0.0001,
     .most = 1e12,
     .help = "Theta, the base of the frequencies of column pairs."},
    {.name = "rope-freq-scale",
     .kind = Kind::number,
     .value = "N",
     .least = 0.000'001,
     .most = 1'000,
     .help = "The same as 1 / --rope-scale."},
    {.name = "yarn-orig-ctx",
     .kind = Kind::integer,
     .value = "N",
     .least = 1,
     .most = 1 << 30,
     .help = "For yarn and dynamic: the context of the training."},
    {.name = "yarn-ext-factor",
     .kind = Kind::number,
     .value = "X",
     .least = -1,
     .most = 1,
     .help = "For yarn: a factor of the unscaled part of each frequency. 0: scale all pairs, but not queries and keys. "
             "Default and below 0: as in the file, or 1."},
    {.name = "yarn-attn-factor",
     .kind = Kind::number,
     .value = "X",
     .least = 0,
     .most = 1'000,
     .help = "For yarn: multiply queries and keys by X (0.1 ln S + 1), where S is --rope-scale. Default: 1."},
    {.name = "yarn-beta-fast",
     .kind = Kind::number,
     .value = "N",
     .least = 0.001,
     .most = 1'000'000,
     .help = "For yarn: a pair that makes N rotations or more in the original context is not scaled. Default: 32."},
    {.name = "yarn-beta-slow",
     .kind = Kind::number,
     .value = "N",
     .least = 0.001,
     .most = 1'000'000,
     .help = "For yarn: a pair that makes N rotations or fewer is scaled by the full 1 / --rope-scale. Default: 1."},
};
inline constexpr OptionGroup rope_group{"RoPE", rope_options};

// Whether any of them was given to a verb that offers them.
bool has_rope_options(const Arguments& arguments);

// Applies the options to every rope in the spec. Appends a sentence to `idle` for each option without effect. Throws
// Error(usage).
std::string with_rope_options(const Arguments& arguments, std::string_view spec, const Dims& dims,
                              std::vector<std::string>& idle);

} // namespace ordo::tools
