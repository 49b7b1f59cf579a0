// SPDX-License-Identifier: MIT
// RoPE's frequencies from the command line, under llama.cpp's names, in the place of what a model's file says.
#pragma once

#include "tools/cli/options.h"

namespace ordo::tools {

inline constexpr Option rope_options[] = {
    {.name = "rope-scaling",
     .kind = Kind::choice,
     .value = "LAW",
     .help = "none|linear|ntk|dynamic|yarn: how frequencies are stretched; by default as the model's file says, or "
             "linear if there is a --rope-scale"},
    {.name = "rope-scale",
     .kind = Kind::number,
     .value = "N",
     .least = 0.001,
     .most = 1'000'000,
     .help = "factor by which the context becomes longer"},
    {.name = "rope-freq-base",
     .kind = Kind::number,
     .value = "N",
     .least = 0.0001,
     .most = 1e12,
     .help = "theta, the base of the frequencies"},
    {.name = "rope-freq-scale",
     .kind = Kind::number,
     .value = "N",
     .least = 0.000'001,
     .most = 1'000,
     .help = "1 / --rope-scale"},
    {.name = "yarn-orig-ctx",
     .kind = Kind::integer,
     .value = "N",
     .least = 1,
     .most = 1 << 30,
     .help = "yarn, dynamic: tokens that the model was trained on before it was stretched"},
    {.name = "yarn-ext-factor",
     .kind = Kind::number,
     .value = "X",
     .least = -1,
     .most = 1,
     .help = "yarn: how much frequencies are mixed by beta-fast and beta-slow; 0: all are divided by --rope-scale, and "
             "queries and keys keep their length; below 0, and by default: as the model's file says, or 1"},
    {.name = "yarn-attn-factor",
     .kind = Kind::number,
     .value = "X",
     .least = 0,
     .most = 1'000,
     .help = "yarn: queries and keys are multiplied by X (0.1 ln S + 1), where S is --rope-scale; by default 1"},
    {.name = "yarn-beta-fast",
     .kind = Kind::number,
     .value = "N",
     .least = 0.001,
     .most = 1'000'000,
     .help = "yarn: pairs that turn N times or more in the original context keep their frequency; by default 32"},
    {.name = "yarn-beta-slow",
     .kind = Kind::number,
     .value = "N",
     .least = 0.001,
     .most = 1'000'000,
     .help = "yarn: pairs that turn N times or less in the original context are divided by --rope-scale; by default 1"},
};
inline constexpr OptionGroup rope_group{"RoPE", rope_options};

// Whether any of them was given to a verb that offers them.
bool has_rope_options(const Arguments& arguments);

// The spec with every rope in it as the options say. Appends what they leave as it was to `idle`, a sentence each. Throws
// Error(usage).
std::string with_rope_options(const Arguments& arguments, std::string_view spec, const Dims& dims,
                              std::vector<std::string>& idle);

} // namespace ordo::tools
