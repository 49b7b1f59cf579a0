// SPDX-License-Identifier: MIT
// RoPE's frequencies from the command line, under llama.cpp's names. They replace the values in the model's file.
#pragma once

#include "tools/cli/options.h"

namespace ordo::tools {

inline constexpr Option rope_options[] = {
    {Kind::choice, "rope-scaling", "METHOD",
     "none|linear|ntk|dynamic|yarn: the scaling of frequencies. Default: as in the file, or linear."},
    {Kind::number, "rope-scale", "N", 0.001, 1'000'000, "The factor by which the context becomes longer."},
    {Kind::number, "rope-freq-base", "N", 0.0001, 1e12, "Theta, the base of the frequencies of column pairs."},
    {Kind::number, "rope-freq-scale", "N", 0.000'001, 1'000, "The same as 1 / --rope-scale."},
    {Kind::integer, "yarn-orig-ctx", "N", 1, 1 << 30, "For yarn and dynamic: the context of the training."},
    {Kind::number, "yarn-ext-factor", "X", -1, 1,
     "YaRN: how much of each frequency stays unscaled. 0: scale all pairs, but not queries and keys. Default "
     "and below 0: as in the file, or 1."},
    {Kind::number, "yarn-attn-factor", "X", 0, 1'000,
     "For yarn: multiply queries and keys by X (0.1 ln S + 1), where S is --rope-scale. Default: 1."},
    {Kind::number, "yarn-beta-fast", "N", 0.001, 1'000'000,
     "For yarn: a pair that makes N rotations or more in the original context is not scaled. Default: 32."},
    {Kind::number, "yarn-beta-slow", "N", 0.001, 1'000'000,
     "For yarn: a pair that makes N rotations or fewer is scaled by the full 1 / --rope-scale. Default: 1."},
};
inline constexpr OptionGroup rope_group{"RoPE", rope_options};

// Whether any of them was given to a verb that offers them.
bool has_rope_options(const Arguments& arguments);

// Applies the options to every rope in the spec. Appends a sentence to `idle` for each option without effect. Throws
// Error(usage).
std::string with_rope_options(const Arguments& arguments, std::string_view spec, const Dims& dims,
                              std::vector<std::string>& idle);

} // namespace ordo::tools
