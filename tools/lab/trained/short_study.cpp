// SPDX-License-Identifier: MIT
#include "tools/lab/trained/short_study.h"

#include "io/base_name.h"
#include "tools/cli/inputs.h"
#include "tools/model/scores.h"

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

} // namespace ordo::lab::train_short
