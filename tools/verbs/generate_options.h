// SPDX-License-Identifier: MIT
// The options of ordo generate.
#pragma once

#include "tools/cli/inputs.h"
#include "tools/cli/machine.h"
#include "tools/cli/rope_options.h"
#include "tools/cli/weights.h"

namespace ordo::tools::generate_table {

inline constexpr Option way_options[] = {
    {.name = "encodings",
     .kind = Kind::text,
     .value = "LIST",
     .repeatable = true,
     .help =
         "continue the prompt under each of these encodings, side by side, with the speed of each and its loss on its "
         "own text; specs separated by ; or , each on the shipped weights trained with it, or all forced onto --model"},
    {.letter = 'i',
     .name = "interactive",
     .help = "continue what is typed, again and again; /help lists the commands, Ctrl-C stops the text, Ctrl-D quits"},
};

inline constexpr Option chat_options[] = {
    {.name = "chat",
     .help = "take the prompt as a user's message and answer it, by the chat template that the model's file holds; "
             "with --interactive, take every line that is typed so"},
    {.name = "system",
     .kind = Kind::text,
     .value = "TEXT",
     .help = "the system message that begins the conversation, such as: Be brief."},
    {.name = "raw", .help = "continue the prompt as it is, without the hint that --chat would use the chat template"},
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
     .help = "tokens to generate; -1: until the text ends or the context is full (with --context-shift it never is)"},
    {.letter = 'c',
     .name = "ctx-size",
     .kind = Kind::integer,
     .value = "N",
     .fallback = "0",
     .least = 0,
     .most = 1 << 22,
     .help = "size of the context in tokens, the prompt's included; 0: as many as the prompt and -n take, at most the "
             "length that the model was trained with"},
    {.name = "context-shift",
     .help = "go on when the context is full: the first --keep tokens stay, half of the others go, and the cache "
             "does not grow; cached keys are renumbered (StreamingLLM), or, where the encoding does not allow that, "
             "computed again; of a longer prompt the middle is left out"},
    {.name = "keep",
     .kind = Kind::integer,
     .value = "N",
     .fallback = "4",
     .least = -1,
     .most = 1 << 22,
     .help = "how many tokens at the beginning stay; -1: the whole prompt"},
    {.name = "cache-type",
     .kind = Kind::choice,
     .value = "TYPE",
     .fallback = "f32",
     .help = "f32|f16|q8_0: type of the cached keys and values; f16 takes half the memory and q8_0, where heads are as "
             "wide as "
             "blocks of 32, little more than a quarter; both round them"},
    {.name = "stop",
     .kind = Kind::text,
     .value = "TEXT",
     .repeatable = true,
     .help = "stop before this text would appear"},
    {.name = "ignore-eos", .help = "never draw the token that ends a text, and so go on"},
    {.name = "no-display-prompt", .help = "print the continuation only"},
};

inline constexpr Option sampling_options[] = {
    {.name = "temp",
     .alias = "temperature",
     .kind = Kind::number,
     .value = "T",
     .fallback = "0.8",
     .least = 0,
     .most = 1000,
     .help = "temperature; 0: always the likeliest token"},
    {.name = "top-k",
     .kind = Kind::integer,
     .value = "K",
     .fallback = "40",
     .least = 0,
     .most = 1 << 22,
     .help = "draw from the K likeliest tokens; 0: off"},
    {.name = "top-p",
     .kind = Kind::number,
     .value = "P",
     .fallback = "0.95",
     .least = 0,
     .most = 1,
     .above = true,
     .help = "draw from the fewest tokens that together have probability P; 1: off"},
    {.name = "min-p",
     .kind = Kind::number,
     .value = "P",
     .fallback = "0.05",
     .least = 0,
     .most = 1,
     .help = "drop tokens less likely than P times the likeliest; 0: off"},
    {.name = "repeat-penalty",
     .kind = Kind::number,
     .value = "R",
     .fallback = "1.0",
     .least = 0,
     .most = 1000,
     .above = true,
     .help = "make recent tokens less likely; 1: off"},
    {.name = "repeat-last-n",
     .kind = Kind::integer,
     .value = "N",
     .fallback = "64",
     .least = -1,
     .most = 1 << 22,
     .help = "how many tokens are recent; 0: none, -1: all"},
    {.letter = 's',
     .name = "seed",
     .kind = Kind::seed,
     .value = "N",
     .least = -1,
     .help = "the same seed gives the same text, whatever the threads; by default, and for -1, random and printed on "
             "stderr"},
};

inline constexpr Option tokenizer_options[] = {
    {.name = "tokenizer",
     .kind = Kind::path,
     .value = "PATH",
     .help = "take the tokenizer from a tokenizer.json, a directory, a GGUF or an Ordo file, or llama2.c's "
             "tokenizer.bin; by default the model's"},
};

inline constexpr OptionGroup groups[] = {{"Prompt", prompt_options},
                                         {"Mode", way_options},
                                         {"Conversation", chat_options},
                                         {"Length", length_options},
                                         {"Sampling", sampling_options},
                                         model_group,
                                         {"Tokenizer", tokenizer_options},
                                         rope_group,
                                         common_group};

} // namespace ordo::tools::generate_table
