// SPDX-License-Identifier: MIT
// The options of ordo bench, which is a program of its own: bench.cpp.
#include "tools/cli/machine.h"
#include "tools/verbs/programs.h"

namespace ordo::tools {

namespace bench_options_file {

constexpr double most_tokens = 1 << 20;

constexpr Option options[] = {
    {.name = "encodings",
     .alias = "encoding",
     .kind = Kind::text,
     .value = "LIST",
     .repeatable = true,
     .help = "The specs to measure, separated by commas or semicolons, or all. Default: all, or the model's own with "
             "--model. none is always measured too."},
    {.letter = 'p',
     .name = "n-prompt",
     .kind = Kind::integers,
     .value = "N",
     .fallback = "512",
     .least = 0,
     .most = most_tokens,
     .help = "For prefill: the tokens fed at once; 0: no prefill."},
    {.letter = 'n',
     .name = "n-gen",
     .kind = Kind::integers,
     .value = "N",
     .fallback = "128",
     .least = 0,
     .most = most_tokens,
     .help = "For decode: the tokens fed one at a time; 0: no decode."},
    {.letter = 'd',
     .name = "n-depth",
     .kind = Kind::integers,
     .value = "N",
     .fallback = "0",
     .least = 0,
     .most = most_tokens,
     .help = "The tokens already in the cache, which are not timed."},
    {.name = "parallel",
     .kind = Kind::integers,
     .value = "N",
     .fallback = "1",
     .least = 1,
     .most = 1024,
     .help = "For decode: the sequences decoded together; t/s counts the tokens of all."},
    {.letter = 'r',
     .name = "repetitions",
     .kind = Kind::integer,
     .value = "N",
     .fallback = "5",
     .least = 1,
     .most = 100'000,
     .help = "The rounds. In each round, every encoding runs once, in a random order."},
    {.name = "cache-type",
     .kind = Kind::choice,
     .value = "TYPE",
     .fallback = "f32",
     .help = "f32|f16|bf16|q8_0: the type of cached keys and values. f16 and bf16 take half the memory, q8_0 little "
             "more than a quarter; all three round."},
    {.name = "ubatch-size",
     .kind = Kind::integer,
     .value = "N",
     .fallback = "256",
     .least = 1,
     .most = most_tokens,
     .help = "The tokens processed at once in prefill."},
    {.letter = 't',
     .name = "threads",
     .kind = Kind::integers,
     .value = "N",
     .least = 1,
     .most = max_threads,
     .help = "The numbers of threads. Default: OMP_NUM_THREADS, or one for each physical core."},
    {.name = "beside",
     .kind = Kind::integer,
     .value = "N",
     .fallback = "0",
     .least = 0,
     .most = 1024,
     .help = "Run next to N busy threads, as on a machine with other programs."},
    {.name = "format",
     .kind = Kind::choice,
     .value = "FORMAT",
     .fallback = "text",
     .help = "text|md|csv|json: the figures."},
};
constexpr Option shape_options[] = {
    {.name = "shape",
     .alias = "arch",
     .kind = Kind::text,
     .value = "NAMES",
     .fallback = "ordo",
     .help = "The shapes to run with random weights: an architecture, llama15m, llama110m, gpt2-124m, bloom560m or "
             "llama1.1b."},
    {.letter = 'm',
     .name = "model",
     .kind = Kind::path,
     .value = "FILE",
     .help = "Run the weights of FILE instead of random weights."},
    {.name = "dtype",
     .kind = Kind::text,
     .value = "TYPES",
     .fallback = "f32",
     .help = "The types of the weights in memory: f32, f16, bf16, q8_0, q4_0 and, for random weights, q4_1, q5_0, "
             "q5_1, q2_K, q3_K, q4_K, q5_K, q6_K, iq4_nl, iq4_xs. Default with --model: as stored."},
    {.name = "layers",
     .kind = Kind::integer,
     .value = "N",
     .least = 1,
     .most = 1024,
     .help = "The number of layers, instead of the shape's."},
    {.name = "dim", .kind = Kind::integer, .value = "N", .least = 1, .most = 65536, .help = "The width of the model."},
    {.name = "heads", .kind = Kind::integer, .value = "N", .least = 1, .most = 1024, .help = "The query heads."},
    {.name = "kv-heads", .kind = Kind::integer, .value = "N", .least = 1, .most = 1024, .help = "The key heads."},
    {.name = "ffn",
     .kind = Kind::integer,
     .value = "N",
     .least = 1,
     .most = 1 << 20,
     .help = "The feed-forward width."},
    {.name = "vocab", .kind = Kind::integer, .value = "N", .least = 1, .most = 1 << 22, .help = "The vocabulary."},
};
// The common options except --threads, which is a list here.
static_assert(common_options[0].name == "threads");
constexpr OptionGroup groups[] = {
    {"Bench", options}, {"Model", shape_options}, {"Common", std::span(common_options).subspan(1)}};

} // namespace bench_options_file

const std::span<const Option> bench_shape_options = bench_options_file::shape_options;

const Verb bench_verb{
    .name = "bench",
    .operand = "MODEL",
    .summary = "Measure the cost of each positional encoding",
    .details =
        "Lists are crossed: -p 512 -n 128 -d 0,1024 -t 1,2 makes eight tests for each of --dtype f32,q8_0. Columns "
        "have llama-bench's names if they mean the same. For each encoding, in prefill (pp) and decode (tg): us/token "
        "is the time of its own calls, kflop their predicted operations, tables and params its KiB. -v, CSV and JSON "
        "add moments %, that time as a share, and x pred., that time divided by the predicted time.",
    .groups = bench_options_file::groups,
    .program = "ordo-bench"};

} // namespace ordo::tools
