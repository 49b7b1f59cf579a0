// SPDX-License-Identifier: MIT
#include "tools/bench/overhead.h"

#include "core/error.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "core/random.h"
#include "core/timer.h"
#include "encoding/base/initial.h"
#include "model/stack.h"
#include "model/tensor_memory.h"
#include "tools/bench/moments.h"
#include "tools/bench/statistics.h"

#include <algorithm>
#include <malloc.h>
#include <numeric>

namespace ordo::bench {
namespace {

constexpr std::uint64_t seed = 1;

std::size_t heap_in_use() {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd + mapped_bytes();
}

std::vector<Token> random_tokens(int n, int vocab_size) {
    const Random random(seed, 0x70e5);
    std::vector<Token> tokens(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < tokens.size(); ++i)
        tokens[i] = static_cast<Token>(random.below(i, static_cast<std::uint64_t>(vocab_size)));
    return tokens;
}

// The order of the encodings in one round. In a fixed order, each encoding would always run with the caches of the same
// predecessor.
std::vector<std::size_t> order_of_round(std::size_t n, int round) {
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    shuffle(std::span(order), Random(seed, static_cast<std::uint64_t>(round)));
    return order;
}

// One pass in new sessions, so that an unlucky memory layout does not stay with one encoding. Timing begins at
// on_start.
double seconds_of_pass(
    const Model& model, const Workload& load, int chunk, std::span<const Token> tokens,
    const std::function<void()>& on_start = [] {}) {
    const auto depth = static_cast<std::size_t>(load.n_depth);
    const int reach = load.n_depth + load.tokens();
    std::vector<Session> sessions;
    std::vector<Session*> members;
    for (int i = 0; i < load.n_parallel; ++i) {
        sessions.emplace_back(
            model, SessionOptions{.capacity = reach, .chunk = chunk, .first_position = 0, .cache = load.cache});
        if (depth > 0) sessions.back().feed(tokens.first(depth));
    }
    for (Session& session : sessions) members.push_back(&session);
    on_start();
    if (load.n_parallel > 1) {
        Batch batch(model, load.n_parallel, reach);
        std::vector<Token> column(members.size());
        const auto start = Clock::now();
        for (std::size_t i = depth; i < tokens.size(); ++i) {
            std::fill(column.begin(), column.end(), tokens[i]);
            batch.feed(members, column);
        }
        return seconds_since(start);
    }
    Session& session = sessions.front();
    const auto start = Clock::now();
    if (load.n_prompt > 0)
        session.feed(tokens.subspan(depth));
    else
        for (std::size_t i = depth; i < tokens.size(); ++i) session.feed(tokens.subspan(i, 1));
    return seconds_since(start);
}

} // namespace

std::string Workload::name() const {
    std::string text = n_prompt > 0 ? "pp" + std::to_string(n_prompt) : "tg" + std::to_string(n_gen);
    if (n_parallel > 1) text += " x " + std::to_string(n_parallel);
    return n_depth > 0 ? text + " @ d" + std::to_string(n_depth) : text;
}

std::vector<Workload> workloads(std::span<const std::int64_t> prompts, std::span<const std::int64_t> gens,
                                std::span<const std::int64_t> depths, std::span<const std::int64_t> threads,
                                std::span<const std::int64_t> parallel) {
    std::vector<Workload> loads;
    for (const std::int64_t t : threads)
        for (const std::int64_t d : depths) {
            const int depth = static_cast<int>(d), count = static_cast<int>(t);
            for (const std::int64_t p : prompts)
                if (p > 0) loads.push_back({static_cast<int>(p), 0, depth, count, 1});
            for (const std::int64_t g : gens)
                for (const std::int64_t n : parallel)
                    if (g > 0) loads.push_back({0, static_cast<int>(g), depth, count, static_cast<int>(n)});
        }
    return loads;
}

std::unique_ptr<Model::Impl> same_trunk(const Model& model) {
    const Model::Impl& from = impl_of(model);
    auto impl = std::make_unique<Model::Impl>();
    impl->where = from.where;
    impl->blueprint = from.blueprint;
    impl->weights = from.weights;
    impl->tensors = from.tensors; // a session counts their bytes
    return impl;
}

Model with_encoding(const Model& trunk, std::string_view encoding, int context, EncodingBytes* bytes) {
    auto impl = same_trunk(trunk);
    impl->blueprint.context = context; // learned tables have the same length

    const std::size_t before = heap_in_use();
    impl->encodings = ModelEncodings(encoding, impl->blueprint.dims());
    impl->program = compile(impl->blueprint, impl->encodings);
    const std::size_t made = heap_in_use();
    impl->tensors = std::make_shared<TensorMemory>(impl->encodings.tensors());
    std::vector<View> views;
    std::size_t parameters = 0;
    for (std::size_t i = 0; i < impl->tensors->specs().size(); ++i) {
        const TensorSpec& spec = impl->tensors->specs()[i];
        const std::span<float> values = impl->tensors->values(i);
        fill_initial(spec, values, seed, i);
        if (spec.trainable) parameters += values.size() * sizeof(float);
        views.push_back(impl->tensors->view(i));
    }
    const std::size_t bound = heap_in_use();
    impl->encodings.bind(views);
    impl->encodings.prepare(context);
    impl->prepared = context;
    if (bytes) *bytes = {heap_in_use() - bound + made - before, parameters};
    return Model(std::move(impl));
}

namespace {

// Times the calls of the encodings in separate passes: the clock must not slow down the compared passes.
void time_moments(const Model& trunk, std::span<const Model> models, const Plan& plan, const Workload& load,
                  std::span<const Token> tokens, std::vector<EncodingCost>& costs) {
    const Blueprint& b = blueprint_of(trunk);
    MomentClock clock;
    std::vector<Model> clocked;
    for (const Model& model : models) clocked.push_back(timed(model, clock));
    const int reach = load.n_depth + load.tokens();
    clocked.push_back(timed(trunk, product_encoding(b, reach, load.cache), clock));
    clocked.push_back(timed(trunk, sum_encoding(reach), clock));
    std::vector<std::array<std::vector<double>, PerMoment::count>> seconds(clocked.size());
    for (int round = -1; round < plan.rounds; ++round)
        for (const std::size_t i : order_of_round(clocked.size(), round)) {
            if (encodings_of(clocked[i]).moments() == 0) continue;
            seconds_of_pass(clocked[i], load, plan.chunk, tokens, [&] { clock.reset(); });
            const PerMoment found = clock.seconds();
            for (std::size_t m = 0; m < PerMoment::count && round >= 0; ++m) seconds[i][m].push_back(found.values[m]);
        }
    const auto moment_us = [&](std::size_t i) {
        PerMoment us;
        for (std::size_t m = 0; m < PerMoment::count && !seconds[i][m].empty(); ++m)
            us.values[m] = 1e6 * quantile(seconds[i][m], 0.5) / load.tokens() / load.n_parallel;
        return us;
    };
    const auto operations = [&](std::size_t i) {
        return encoding_operations(b, encodings_of(clocked[i]), load, plan.chunk);
    };
    const auto rate = [&](std::size_t i) { return 1e6 * operations(i).sum() / moment_us(i).sum(); };
    const MomentRates rates{rate(costs.size()), rate(costs.size() + 1)};
    for (std::size_t i = 0; i < costs.size(); ++i) {
        costs[i].moment_us = moment_us(i);
        costs[i].moment_operations = operations(i);
        costs[i].rates = rates;
    }
}

} // namespace

std::vector<EncodingCost> measure(const Model& trunk, const Plan& plan, const Workload& load,
                                  const std::function<void(int round, std::string_view encoding)>& on_pass) {
    set_threads(load.n_threads);
    const int reach = load.n_depth + load.tokens();
    std::vector<EncodingCost> costs(plan.encodings.size());
    std::vector<Model> models;
    for (std::size_t i = 0; i < costs.size(); ++i) {
        models.push_back(with_encoding(trunk, plan.encodings[i], std::max(reach, trunk.context()), &costs[i].bytes));
        costs[i].encoding = models[i].encoding();
    }
    const std::vector<Token> tokens = random_tokens(reach, trunk.vocab_size());
    for (int round = -1; round < plan.rounds; ++round) // the first one warms up
        for (const std::size_t i : order_of_round(costs.size(), round)) {
            if (on_pass) on_pass(round, costs[i].encoding);
            const double seconds = seconds_of_pass(models[i], load, plan.chunk, tokens);
            if (round >= 0) costs[i].seconds.push_back(seconds);
        }
    if (!plan.alone) time_moments(trunk, models, plan, load, tokens, costs);
    return costs;
}

} // namespace ordo::bench
