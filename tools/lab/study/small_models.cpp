// SPDX-License-Identifier: MIT
#include "tools/lab/study/small_models.h"

#include "core/error.h"
#include "core/parallel.h"
#include "encoding/base/model_encodings.h"
#include "kernels/kernels.h"
#include "layers/linear.h"
#include "tools/terminal/live_line.h"
#include "training/schedule.h"
#include "training/step.h"

#include <algorithm>
#include <cmath>
#include <exception>

namespace ordo::lab {
namespace {

void widen(Parameters& parameters, int d_model) {
    const auto factor = static_cast<float>(std::sqrt(768.0 / d_model));
    for (int i = 0; i < parameters.count(); ++i) {
        const TensorSpec& spec = parameters.specs()[i];
        const View w = parameters.value(i);
        if (spec.shape.size() == 2) kernels().scale(w.rows * w.cols, factor, w.data);
    }
}

// Returns the number of steps.
int train(const Recipe& r, ModelEncodings& encodings, Parameters& parameters, std::uint64_t seed, Meter& meter) {
    Network network(r.trunk, encodings, parameters, r.batch, r.length);
    Optimizer optimizer(parameters);
    const auto n = static_cast<std::size_t>(r.batch) * static_cast<std::size_t>(r.length);
    std::vector<Token> tokens(n), targets(n);
    std::vector<int> segments(r.segments ? n : 0);
    Schedule lr{.peak = r.lr, .steps = r.steps, .warmup = r.steps / 20, .decay = r.solved > 0 ? r.decay : 0};
    double recent = HUGE_VAL; // mean loss, weighted towards the last 20 steps
    for (int step = 0; step < lr.steps; ++step) {
        r.draw(seed, step, tokens, targets);
        std::ranges::fill(segments, 0);
        for (std::size_t at = 0; at < segments.size(); at += r.length)
            r.segments(seed, (step * n + at) / r.length, std::span(segments).subspan(at, r.length));
        const TrainingStep taken =
            take_step(network, optimizer, {tokens, targets, segments}, {lr(step), r.weight_decay, r.clip},
                      {.rate = 0, .seed = seed, .step = static_cast<std::uint64_t>(step)}); // of drawn positions
        if (!taken.finite()) fail(ErrorCode::failure, encodings.spec(), ": step ", step, ": the loss is not finite");
        recent = step == 0 ? taken.loss : recent + (taken.loss - recent) / 20;
        if (recent < r.solved) lr.steps = std::min<std::int64_t>(lr.steps, step + 1 + r.decay);
        meter.add(1);
    }
    meter.add(r.steps - lr.steps);
    return static_cast<int>(lr.steps);
}

} // namespace

Meter::Meter(std::int64_t total, std::string what, std::function<void(const std::string&)> show)
    : total_(total), what_(std::move(what)), show_(std::move(show)) {}

void Meter::add(std::int64_t steps) {
    const std::int64_t done = done_ += steps;
    if (thread_index() != 0) return;
    const auto now = Clock::now();
    if (now - shown_ < std::chrono::milliseconds(200)) return;
    shown_ = now;
    const double left = tools::seconds_left(seconds_since(start_), done, total_);
    show_(what_ + ": " + std::to_string(100 * done / total_) + " %, " + tools::left_text(left));
}

void check_recipe(const Recipe& recipe, const std::string& encoding) {
    check_reach(ModelEncodings(encoding, recipe.trunk.dims()), recipe.length);
}

Model small_model(const Recipe& recipe, const std::string& encoding, std::uint64_t seed, Meter& meter, int* steps) {
    check_recipe(recipe, encoding);
    ModelEncodings encodings(encoding, recipe.trunk.dims());
    Parameters parameters(recipe.trunk, encodings);
    parameters.initialise(seed);
    widen(parameters, recipe.trunk.d_model);
    const int taken = recipe.steps > 0 ? train(recipe, encodings, parameters, seed, meter) : 0;
    if (steps) *steps = taken;
    ModelEncodings fresh(encoding, recipe.trunk.dims());
    TensorMemory tensors(model_tensors(recipe.trunk, fresh));
    for (int i = 0; i < parameters.count(); ++i) {
        const View from = parameters.value(i);
        std::copy_n(from.data, tensors.values(static_cast<std::size_t>(i)).size(),
                    tensors.values(static_cast<std::size_t>(i)).data());
    }
    return make_model("a model trained on the spot", recipe.trunk, std::move(fresh), std::move(tensors), nullptr, {},
                      recipe.positions > 0 ? recipe.positions : recipe.length);
}

Session small_session(const Model& model, int capacity) {
    return Session(model, {.capacity = capacity, .chunk = 32});
}

bool says_nothing_of_position(const std::string& encoding, const Dims& dims) {
    const ModelEncodings stack(encoding, dims);
    return std::all_of(stack.items().begin(), stack.items().end(), [](const auto& item) {
        if (item->scales_queries()) return true; // by the length alone
        const unsigned acts = item->moments();
        return (acts & ~(moment_positions | moment_embed | moment_sink)) == 0 &&
               (item->shift_invariant() || (acts & moment_positions) != 0);
    });
}

void side_by_side(int n, const std::function<void(int)>& body) {
    std::vector<std::exception_ptr> thrown(n);
    parallel_for_dynamic(n, [&](std::ptrdiff_t i) {
        try {
            body(static_cast<int>(i));
        } catch (...) {
            thrown[i] = std::current_exception();
        }
    });
    for (const std::exception_ptr& e : thrown)
        if (e) std::rethrow_exception(e);
}

} // namespace ordo::lab
