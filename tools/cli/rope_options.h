// SPDX-License-Identifier: MIT
// RoPE's frequencies from the command line, under llama.cpp's names, in the place of what a model's file says.
#pragma once

#include "tools/cli/options.h"

namespace ordo::tools {

inline constexpr Option rope_options[] = {
    {.name = "rope-scaling",
     .kind = Kind::choice,
     .value = "LAW",
     .help = "none|linear|ntk|dynamic|yarn: how frequencies are stretched; by default the file's way, or linear if "
             "there is a --rope-scale"},
    {.name = "rope-scale",
     .kind = Kind::number,
     .value = "N",
     .least = 0.001,
     .most = 1'000'000,
     .help = "that the context becomes longer by"},
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
     .help = "yarn: share in which frequencies are mixed by beta-fast and beta-slow; 0: all are divided by N, and "
             "queries and keys stay as long; below 0: the file's, or 1, as by default"},
    {.name = "yarn-attn-factor",
     .kind = Kind::number,
     .value = "X",
     .least = 0,
     .most = 1'000,
     .help = "yarn: queries and keys are multiplied by X (0.1 ln N + 1); by default 1"},
    {.name = "yarn-beta-fast",
     .kind = Kind::number,
     .value = "N",
     .least = 0.001,
     .most = 1'000'000,
     .help = "yarn: pairs that turn as often in the original context are kept; by default 32"},
    {.name = "yarn-beta-slow",
     .kind = Kind::number,
     .value = "N",
     .least = 0.001,
     .most = 1'000'000,
     .help = "yarn: pairs that turn as seldom are divided by N; by default 1"},
};
inline constexpr OptionGroup rope_group{"RoPE", rope_options};

// Whether any of them was given to a verb that offers them.
bool has_rope_options(const Arguments& arguments);

// The spec with every rope in it as the options say. Appends what they leave as it was to `idle`, a sentence each. Throws
// Error(usage).
std::string with_rope_options(const Arguments& arguments, std::string_view spec, const Dims& dims,
                              std::vector<std::string>& idle);

} // namespace ordo::tools
