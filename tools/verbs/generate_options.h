// SPDX-License-Identifier: MIT
// The options of ordo generate.
#pragma once

#include "tools/cli/inputs.h"
#include "tools/cli/machine.h"
#include "tools/opening/rope_options.h"
#include "tools/opening/weights.h"

namespace ordo::tools::generate_table {

inline constexpr Option mode_options[] = {
    repeatable(
        {Kind::text, "encodings", "LIST", "Compare these encodings side by side, with their own weights or --model."}),
    {"i,interactive", "Continue each text that you type; /help explains."},
    {"chat", "Answer the prompt with the model's chat template."},
    {Kind::text, "system", "TEXT", "The system message, with --chat."},
    {"raw", "Continue the prompt as it is. Do not mention --chat."},
};

inline constexpr Option length_options[] = {
    {Kind::integer, "n,n-predict,predict", "N=128", -1, 1 << 22, "The most tokens to generate; -1: no limit."},
    {Kind::integer, "c,ctx-size", "N=0", 0, 1 << 22,
     "The context in tokens; 0: as many as the prompt and -n need, at most the trained length."},
    {"context-shift", "Continue in a full context: keep the first --keep tokens, drop half of the others, and renumber "
                      "the cached keys (StreamingLLM) or compute them again."},
    {Kind::integer, "keep", "N=4", -1, 1 << 22, "Keep N tokens at the start; -1: the prompt."},
    {Kind::choice, "cache-type", "TYPE=f32",
     "f32|f16|bf16|q8_0: the type of cached keys and values. f16 and bf16 take half the memory, q8_0 about a quarter."},
    repeatable({Kind::text, "stop", "TEXT", "Stop before this text."}),
    {"ignore-eos", "Do not stop at the end-of-text token."},
    {"no-display-prompt", "Print only the continuation."},
};

inline constexpr Option sampling_options[] = {
    {Kind::number, "temp,temperature", "T=0.8", 0, 1000,
     "The temperature, applied after the other settings, as in llama.cpp; 0: the likeliest token."},
    {Kind::integer, "top-k", "K=40", 0, 1 << 22, "Sample from the K likeliest tokens; 0: off."},
    above({Kind::number, "top-p", "P=0.95", 0, 1, "Sample within the top probability P; 1: off."}),
    {Kind::number, "min-p", "P=0.05", 0, 1, "Drop tokens below P x the likeliest; 0: off."},
    above({Kind::number, "repeat-penalty", "R=1.0", 0, 1000, "Make recent tokens less likely; 1: off."}),
    {Kind::integer, "repeat-last-n", "N=64", -1, 1 << 22, "The number of recent tokens; 0: none, -1: all."},
    {Kind::seed, "s,seed", "N",
     "The same seed gives the same text on one --isa. Default and -1: a random seed, printed on stderr."},
};

inline constexpr OptionGroup groups[] = {{"Prompt", prompt_options},
                                         {"Mode", mode_options},
                                         {"Length", length_options},
                                         {"Sampling", sampling_options},
                                         model_group,
                                         rope_group,
                                         common_group};

} // namespace ordo::tools::generate_table
