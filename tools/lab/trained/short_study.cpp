// SPDX-License-Identifier: MIT
#include "tools/lab/trained/short_study.h"

#include "core/memory.h"
#include "core/parallel.h"
#include "io/base_name.h"
#include "tools/cli/inputs.h"
#include "tools/cli/one_thread.h"
#include "tools/opening/scores.h"
#include "training.h"

#include <ctime>
#include <malloc.h>

namespace ordo::lab::train_short {
namespace {

Vector costs_of(const ShortPlan& plan, const Model& model, std::uint64_t seed) {
    const int length = 2 * plan.length;
    Session session = small_session(model, length);
    Vector out(length);
    for (int i = 0; i < plan.windows; ++i) {
        const Vector nll = tools::score_window(session, plan.source.window(seed, i, length, true));
        for (std::size_t at = 0; at < out.size(); ++at) out[at] += nll[at] / plan.windows;
    }
    return out;
}

std::size_t memory_taken() {
    const auto heap = mallinfo2();
    return mapped_bytes() + heap.uordblks + heap.hblkhd;
}

// Time of the calling thread. On a busy machine the wall clock also measures other work.
double processor_seconds() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// A trainer of a model and its batch, constructed as usual.
struct TimedTrainer {
    Recipe recipe;
    std::optional<Trainer> trainer;
    std::vector<Token> tokens, targets;
    double bytes = 0;
    Vector milliseconds;

    TimedTrainer(const ShortPlan& plan, const Arm& arm, std::uint64_t seed, Meter& meter)
        : recipe(short_recipe(plan, arm.times)), tokens(recipe.batch * recipe.length), targets(tokens.size()) {
        recipe.steps = 0;
        const Model model = small_model(recipe, encodings[arm.encoding], seed, meter);
        const std::size_t before = memory_taken();
        trainer.emplace(model, TrainingOptions{.batch = recipe.batch, .length = recipe.length});
        step(0);
        bytes = static_cast<double>(memory_taken() - before);
        milliseconds.clear(); // the first step also fills caches
    }
    void step(int number) {
        recipe.draw(1, number, tokens, targets);
        const double start = processor_seconds();
        trainer->step(tokens, targets, 1e-3);
        milliseconds.push_back(1e3 * (processor_seconds() - start));
    }
};

double median(Vector values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

} // namespace

ShortPlan short_plan(const Request& request) {
    ShortPlan plan;
    plan.quick = request.quick;
    plan.length = request.only("length", 32, 256);
    if (plan.length < bucket || rows % (2 * plan.length) != 0)
        fail(ErrorCode::usage, "option --length: expected a power of two from ", bucket, " to ", rows / 2,
             " for this experiment, found ", plan.length);
    if (request.quick) plan.steps = plan.steps / 20, plan.windows = 32, plan.timed = 15;
    plan.seeds = request.integer("seeds", request.quick ? 3 : 5);
    plan.text = "made texts";
    if (request.arguments.has("corpus")) {
        const std::filesystem::path file = request.arguments.text("corpus");
        plan.text = printable(base_name(file));
        plan.source =
            LetterSource(tools::read_corpus(file.string(), std::size_t{1} << 30, request.arguments.has("quiet")),
                         plan.text, 2 * plan.length);
    }
    return plan;
}

Recipe short_recipe(const ShortPlan& plan, int times) {
    const int length = plan.length * times;
    Recipe r{.trunk = small_trunk(plan.source.vocabulary(), length, 2),
             .batch = rows / length,
             .length = length,
             .steps = plan.steps,
             .positions = 2 * plan.length};
    r.draw_each([&, length](std::uint64_t seed, std::uint64_t number, std::span<Token> tokens, auto targets) {
        const std::vector<Token> window = plan.source.window(seed, number, length);
        std::copy_n(window.begin(), length, tokens.begin());
        std::copy_n(window.begin() + 1, length, targets.begin());
    });
    return r;
}

double learnt_below() {
    const double guessing = std::log(LetterSource::letters);
    return guessing - 2 * (guessing - LetterSource::entropy()) / 3;
}

ShortStudy::ShortStudy(const ShortPlan& the_plan, const Request& request) : plan(the_plan) {
    const GridPlan cells{{short_recipe(plan, 1), short_recipe(plan, 2)}, encodings, plan.seeds};
    grid = train_grid<Vector>(cells, request.seed, request.progress,
                              [&](const Model& model, const GridCell&) { return costs_of(plan, model, request.seed); });
}

StepCosts measure_steps(const ShortPlan& plan, const Request& request) {
    const tools::OneThread alone; // the models are also trained on one thread
    Meter meter(1, "", request.progress);
    TimedTrainer a(plan, short_alibi, request.seed, meter), b(plan, long_sinusoidal, request.seed, meter);
    Vector ratios;
    for (int i = 1; i <= plan.timed; ++i) {
        request.progress(told("step {} of {}", i, plan.timed));
        a.step(i), b.step(i);
        ratios.push_back(std::log(a.milliseconds.back() / b.milliseconds.back()));
    }
    return {{median(a.milliseconds), median(b.milliseconds)}, {a.bytes / 1048576, b.bytes / 1048576}, mean_of(ratios)};
}

} // namespace ordo::lab::train_short
