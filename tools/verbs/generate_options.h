// SPDX-License-Identifier: MIT
// The options of ordo generate.
#pragma once

#include "tools/cli/inputs.h"
#include "tools/cli/machine.h"
#include "tools/model/rope_options.h"
#include "tools/model/weights.h"

namespace ordo::tools::generate_table {

inline constexpr Option mode_options[] = {
    {.name = "encodings",
     .kind = Kind::text,
     .value = "LIST",
     .repeatable = true,
     .help = "Compare these encodings side by side, with their own weights or --model."},
    {.letter = 'i', .name = "interactive", .help = "Continue each text that you type; /help explains."},
    {.name = "chat", .help = "Answer the prompt with the model's chat template."},
    {.name = "system", .kind = Kind::text, .value = "TEXT", .help = "The system message, with --chat."},
    {.name = "raw", .help = "Continue the prompt as it is. Do not mention --chat."},
    {.name = "tokenizer",
     .kind = Kind::path,
     .value = "PATH",
     .help = "Take the tokenizer from this file or directory."},
};

inline constexpr Option length_options[] = {
    {.letter = 'n',
     .name = "n-predict",
     .alias = "predict",
     .kind = Kind::integer,
     .value = "N",
     .fallback = "128",
     .least = -1,
     .most = 1 << 22,
     .help = "The most tokens to generate; -1: no limit."},
    {.letter = 'c',
     .name = "ctx-size",
     .kind = Kind::integer,
     .value = "N",
     .fallback = "0",
     .least = 0,
     .most = 1 << 22,
     .help = "The context in tokens; 0: as many as the prompt and -n need, at most the trained length."},
    {.name = "context-shift",
     .help = "Continue in a full context: keep the first --keep tokens, drop half of the others, and renumber the "
             "cached keys (StreamingLLM) or compute them again."},
    {.name = "keep",
     .kind = Kind::integer,
     .value = "N",
     .fallback = "4",
     .least = -1,
     .most = 1 << 22,
     .help = "Keep N tokens at the start; -1: the prompt."},
    {.name = "cache-type",
     .kind = Kind::choice,
     .value = "TYPE",
     .fallback = "f32",
     .help = "f32|f16|bf16|q8_0: the type of cached keys and values. f16 and bf16 take half the memory, q8_0 about a "
             "quarter."},
    {.name = "stop", .kind = Kind::text, .value = "TEXT", .repeatable = true, .help = "Stop before this text."},
    {.name = "ignore-eos", .help = "Do not stop at the end-of-text token."},
    {.name = "no-display-prompt", .help = "Print only the continuation."},
};

inline constexpr Option sampling_options[] = {
    {.name = "temp",
     .alias = "temperature",
     .kind = Kind::number,
     .value = "T",
     .fallback = "0.8",
     .least = 0,
     .most = 1000,
     .help = "The temperature, applied after the other settings, as in llama.cpp; 0: the likeliest token."},
    {.name = "top-k",
     .kind = Kind::integer,
     .value = "K",
     .fallback = "40",
     .least = 0,
     .most = 1 << 22,
     .help = "Sample from the K likeliest tokens; 0: off."},
    {.name = "top-p",
     .kind = Kind::number,
     .value = "P",
     .fallback = "0.95",
     .least = 0,
     .most = 1,
     .above = true,
     .help = "Sample within the top probability P; 1: off."},
    {.name = "min-p",
     .kind = Kind::number,
     .value = "P",
     .fallback = "0.05",
     .least = 0,
     .most = 1,
     .help = "Drop tokens below P x the likeliest; 0: off."},
    {.name = "repeat-penalty",
     .kind = Kind::number,
     .value = "R",
     .fallback = "1.0",
     .least = 0,
     .most = 1000,
     .above = true,
     .help = "Make recent tokens less likely; 1: off."},
    {.name = "repeat-last-n",
     .kind = Kind::integer,
     .value = "N",
     .fallback = "64",
     .least = -1,
     .most = 1 << 22,
     .help = "The number of recent tokens; 0: none, -1: all."},
    {.letter = 's',
     .name = "seed",
     .kind = Kind::seed,
     .value = "N",
     .least = -1,
     .help = "The same seed gives the same text on one --isa. Default and -1: a random seed, printed on stderr."},
};

inline constexpr OptionGroup groups[] = {{"Prompt", prompt_options},
                                         {"Mode", mode_options},
                                         {"Length", length_options},
                                         {"Sampling", sampling_options},
                                         model_group,
                                         rope_group,
                                         common_group};

} // namespace ordo::tools::generate_table
