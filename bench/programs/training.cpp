// SPDX-License-Identifier: MIT
// bench_training: tokens per second of training, and the fraction of the machine's sgemm rate that training reaches.
#include "bench/programs/frame.h"
#include "core/parallel.h"
#include "tools/bench/machine.h"
#include "tools/bench/shapes.h"
#include "tools/bench/statistics.h"
#include "tools/bench/training_speed.h"
#include "tools/terminal/output.h"

#include <algorithm>
#include <cmath>

namespace {

using namespace ordo;
using namespace ordo::tools;

constexpr Option options[] = {
    {"gated", "RMSNorm, SwiGLU and 2/3 of the feed-forward width; otherwise LayerNorm and GELU"},
    {Kind::text, "encoding", "SPEC=none", "positional encoding"},
    {Kind::integer, "layers", "N", 1, 1024, "layers [6]"},
    {Kind::integer, "dim", "N", 1, 65536, "width [192]"},
    {Kind::integer, "heads", "N", 1, 1024, "heads [6]"},
    {Kind::integer, "ffn", "N", 1, 1 << 20, "[768, or 512 gated]"},
    {Kind::integer, "vocab", "N", 1, 1 << 22, "vocabulary [4096]"},
    {Kind::integer, "ctx", "N", 1, 1 << 22, "tokens of a sequence [256]"},
    {Kind::integer, "batch", "N=32", 1, 65536, "sequences in a step"},
    {Kind::integer, "r,repetitions", "N=10", 1, 100'000, "rounds: a step, then the matrix products alone"},
    {Kind::choice, "format", "FORMAT=text", "text|md|csv|json: of the figures"},
};
constexpr OptionGroup groups[] = {{"Training", options}, common_group};

Blueprint trunk_of(const Arguments& arguments) {
    Blueprint b = bench::training_trunk(arguments.has("gated"));
    const auto change = [&](std::string_view option, int& field) {
        if (arguments.has(option)) field = arguments.integer(option);
    };
    change("layers", b.n_layers);
    change("dim", b.d_model);
    change("heads", b.n_heads);
    change("ffn", b.d_ff);
    change("vocab", b.vocab_size);
    change("ctx", b.context);
    b.n_kv_heads = b.n_heads;
    b.d_head = std::max(1, b.d_model / b.n_heads);
    return b;
}

int run(const Arguments& arguments) {
    const bench::TrainingPlan plan{trunk_of(arguments), arguments.text("encoding"), arguments.integer("batch"),
                                   arguments.integer("repetitions")};
    const bench::TrainingResult result = bench::measure_training(plan);
    std::vector<double> reached = bench::rates(result.flops, result.step), of_trunk, of_cube;
    for (std::size_t i = 0; i < reached.size(); ++i) {
        of_trunk.push_back(100 * reached[i] / result.trunk_sgemm[i]);
        of_cube.push_back(100 * reached[i] / result.cube_sgemm[i]);
    }
    Figures figures{{"figure", "min", "median", "max"}, {}, 1};
    const auto add = [&](const char* name, std::span<const double> values, double unit) {
        const bench::Summary s = bench::summarize(values);
        const auto tenths = [unit](double value) { return std::round(value * unit * 10) / 10; };
        figures.add(std::string(name), tenths(s.min), tenths(s.median), tenths(s.max));
    };
    add("tokens_per_second", bench::rates(result.tokens, result.step), 1);
    add("gflops", reached, 1e-9);
    add("sgemm_trunk_gflops", result.trunk_sgemm, 1e-9);
    add("sgemm_2048_gflops", result.cube_sgemm, 1e-9);
    add("percent_of_sgemm_trunk", of_trunk, 1);
    add("percent_of_sgemm_2048", of_cube, 1);
    write_out(render(figures, parse_format(arguments.text("format"))));
    if (arguments.has("quiet")) return 0;
    const Blueprint& b = plan.blueprint;
    write_message(std::to_string(result.parameters) + " parameters: " + std::to_string(b.n_layers) + " layers, " +
                  std::to_string(b.d_model) + " wide, " + std::to_string(b.n_heads) + " heads, batch " +
                  std::to_string(plan.batch) + " x " + std::to_string(b.context) + ", " + plan.encoding + ", " +
                  std::to_string(thread_count()) + " threads; " + bench::cpu_name() + "; " + bench::backend_name());
    return 0;
}

constexpr Verb verb{.name = "bench_training",
                    .operand = {},
                    .summary = "tokens per second of training, as a share of what sgemm alone reaches",
                    .details = "gflops counts useful operations only: 6 for each parameter of a matrix and token, and "
                               "causal attention. sgemm is measured between the steps, on the same threads: at the "
                               "trunk's own products, weighted by their use, and at 2048 x 2048 x 2048.",
                    .groups = groups,
                    .run = run};

} // namespace

int main(int argc, char** argv) {
    return ordo::bench::run_program(verb, argc, argv);
}
