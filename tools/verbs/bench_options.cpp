// SPDX-License-Identifier: MIT
// The options of ordo bench, which is a program of its own: bench.cpp.
#include "tools/cli/machine.h"
#include "tools/verbs/programs.h"

namespace ordo::tools {

namespace bench_options_file {

constexpr double most_tokens = 1 << 20;

constexpr Option options[] = {
    repeatable({Kind::text, "encodings,encoding", "LIST",
                "The specs to measure, separated by commas or semicolons, or all. Default: all, or the model's own "
                "with --model. none is always measured too, except with --alone."}),
    {Kind::flag, "alone", "",
     "Measure only tokens per second, without none and without the time of the encodings' own calls."},
    {Kind::integers, "p,n-prompt", "N=512", 0, most_tokens, "For prefill: the tokens fed at once; 0: no prefill."},
    {Kind::integers, "n,n-gen", "N=128", 0, most_tokens, "For decode: the tokens fed one at a time; 0: no decode."},
    {Kind::integers, "d,n-depth", "N=0", 0, most_tokens, "The tokens already in the cache, which are not timed."},
    {Kind::integers, "parallel", "N=1", 1, 1024,
     "For decode: the sequences decoded together; t/s counts the tokens of all."},
    {Kind::integer, "r,repetitions", "N=5", 1, 100'000,
     "The rounds. In each round, every encoding runs once, in a random order."},
    {Kind::choice, "cache-type", "TYPE=f32",
     "f32|f16|bf16|q8_0: the type of cached keys and values. f16 and bf16 take half the memory, q8_0 little more than "
     "a quarter; all three round."},
    {Kind::integer, "ubatch-size", "N=256", 1, most_tokens, "The tokens processed at once in prefill."},
    {Kind::integers, "t,threads", "N", 1, max_threads,
     "The numbers of threads. Default: OMP_NUM_THREADS, or one for each physical core."},
    {Kind::integer, "beside", "N=0", 0, 1024, "Run next to N busy threads, as on a machine with other programs."},
    {Kind::choice, "format", "FORMAT=text", "text|md|csv|json: the figures."},
};
constexpr Option shape_options[] = {
    {Kind::text, "shape,arch", "NAMES=ordo",
     "The shapes to run with random weights: an architecture, llama15m, llama110m, gpt2-124m, bloom560m or llama1.1b."},
    {Kind::path, "m,model", "FILE", "Run the weights of FILE instead of random weights."},
    {Kind::text, "dtype", "TYPES=f32",
     "The types of the weights in memory: f32, f16, bf16, q8_0, q4_0 and, for random weights, q4_1, q5_0, q5_1, q2_K, "
     "q3_K, q4_K, q5_K, q6_K, iq4_nl, iq4_xs. Default with --model: as stored."},
    {Kind::integer, "layers", "N", 1, 1024, "The number of layers, instead of the shape's."},
    {Kind::integer, "dim", "N", 1, 65536, "The width of the model."},
    {Kind::integer, "heads", "N", 1, 1024, "The query heads."},
    {Kind::integer, "kv-heads", "N", 1, 1024, "The key heads."},
    {Kind::integer, "ffn", "N", 1, 1 << 20, "The feed-forward width."},
    {Kind::integer, "vocab", "N", 1, 1 << 22, "The vocabulary."},
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
        "add moments %, that time as a share, and x pred., measured time / predicted time.",
    .groups = bench_options_file::groups,
    .program = "ordo-bench"};

} // namespace ordo::tools
