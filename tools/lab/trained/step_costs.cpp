// SPDX-License-Identifier: MIT
#include "tools/lab/trained/step_costs.h"

#include "core/memory.h"
#include "core/parallel.h"
#include "tools/cli/one_thread.h"
#include "training.h"

#include <ctime>
#include <malloc.h>

namespace ordo::lab {
namespace {

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

    TimedTrainer(const TimedModel& one, std::uint64_t seed, Meter& meter)
        : recipe(one.recipe), tokens(recipe.batch * recipe.length), targets(tokens.size()) {
        recipe.steps = 0;
        const Model model = small_model(recipe, one.encoding, seed, meter);
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

StepCosts measure_steps(const std::array<TimedModel, 2>& models, int steps, const Request& request) {
    const tools::OneThread alone; // the models are also trained on one thread
    Meter meter(1, "", request.progress);
    TimedTrainer a(models[0], request.seed, meter), b(models[1], request.seed, meter);
    Vector ratios;
    for (int i = 1; i <= steps; ++i) {
        request.progress(told("step {} of {}", i, steps));
        a.step(i), b.step(i);
        ratios.push_back(std::log(a.milliseconds.back() / b.milliseconds.back()));
    }
    return {{median(a.milliseconds), median(b.milliseconds)}, {a.bytes / 1048576, b.bytes / 1048576}, mean_of(ratios)};
}

} // namespace ordo::lab
