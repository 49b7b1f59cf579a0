// SPDX-License-Identifier: MIT
// bench_hosts: many threads of one process, each with its own session.
#include "bench/programs/frame.h"
#include "core/parallel.h"
#include "core/timer.h"
#include "model/model_access.h"
#include "tools/bench/shapes.h"
#include "tools/bench/statistics.h"
#include "tools/terminal/output.h"

#include <cmath>
#include <thread>

namespace {

using namespace ordo;
using namespace ordo::tools;

constexpr Option options[] = {
    {Kind::integers, "hosts", "LIST=1,8,32,64", 1, 1024, "threads of the process, each with a session"},
    {Kind::text, "shape", "NAME=ordo", "of the model, which all share"},
    {Kind::integer, "r,repetitions", "N=5", 1, 1000, "rounds of both, in turns"},
};
constexpr OptionGroup groups[] = {{"Hosts", options}, common_group};

// Seconds until each of `hosts` threads, with `threads` OpenMP threads each, has fed three chunks.
double seconds(const Model& model, int hosts, int threads) {
    constexpr int feeds = 3, tokens = 64;
    const Clock::time_point start = Clock::now();
    std::vector<std::thread> all;
    for (int i = 0; i < hosts; ++i)
        all.emplace_back([&] {
            set_threads(threads);
            Session session(model, {.capacity = feeds * tokens, .chunk = tokens, .first_position = 0});
            const std::vector<Token> chunk(tokens, 1);
            for (int feed = 0; feed < feeds; ++feed) session.feed(chunk);
        });
    for (std::thread& thread : all) thread.join();
    return seconds_since(start);
}

int run(const Arguments& arguments) {
    const Model model = random_model(bench::shape(arguments.text("shape")), "rope", 1);
    const int many = thread_count();
    Figures figures{{"hosts", "threads", "one thread s", "all threads s", "ratio"}, {}, -1};
    for (const std::int64_t hosts : arguments.integers("hosts")) {
        std::vector<double> one, all, ratios;
        for (int round = -1; round < arguments.integer("repetitions"); ++round) { // the first one warms up
            const double single = seconds(model, static_cast<int>(hosts), 1);
            const double several = seconds(model, static_cast<int>(hosts), many);
            if (round < 0) continue;
            one.push_back(single);
            all.push_back(several);
            ratios.push_back(several / single);
        }
        const auto rounded = [](const std::vector<double>& values) {
            return std::round(1000 * bench::quantile(values, 0.5)) / 1000;
        };
        figures.rows.push_back({hosts, std::int64_t{many}, rounded(one), rounded(all), rounded(ratios)});
    }
    write_out(render(figures, Format::text));
    return 0;
}

constexpr Verb verb{.name = "bench_hosts",
                    .operand = {},
                    .summary = "many threads of one process, each with a session of its own",
                    .details =
                        "Seconds until each has fed three chunks of 64 tokens in f32: with one OpenMP thread each, "
                        "and with as many as --threads says.",
                    .groups = groups,
                    .run = run};

} // namespace

int main(int argc, char** argv) {
    return ordo::bench::run_program(verb, argc, argv);
}
