// SPDX-License-Identifier: MIT
#include "tools/lab/trained/retrieval_runs.h"

namespace ordo::lab::retrieval {
namespace {

Recipe recipe_of(const RetrievalPlan& plan, const RetrievalKind& kind) {
    Recipe r{.trunk = small_trunk(plan.haystack->vocabulary(), plan.length, 2),
             .batch = 16,
             .length = plan.length,
             .steps = static_cast<int>(kind.steps * plan.effort),
             .positions = plan.times.back() * plan.length};
    // A few needles are easy to distinguish, and many ask several questions of one sequence. Mixing both speeds up
    // learning.
    const int most = kind.needles == 1 ? 1 : 2 * kind.needles;
    r.draw_each([&plan, most](std::uint64_t seed, std::uint64_t number, auto tokens, auto targets) {
        const Random random(seed, 0x1e47);
        const int needles = 1 + static_cast<int>(random.below(2 * number, most)), least = Haystack::shortest(needles),
                  length = least + static_cast<int>(random.below(2 * number + 1, plan.length - least + 1));
        plan.haystack->train(seed, number, length, needles, tokens, targets);
    });
    return r;
}

Right ask(const RetrievalPlan& plan, const RetrievalKind& kind, const Model& model, std::uint64_t seed) {
    Right grid;
    for (const int times : plan.times) {
        const int length = times * plan.length;
        auto& row = grid.emplace_back();
        row.fill(-1);
        if (length > model.max_position()) continue;
        Session session = small_session(model, length);
        for (std::size_t d = 0; d < std::size(depths); ++d) {
            row[d] = 0;
            for (int i = 0; i < plan.samples; ++i) {
                // Beyond every number of training, and the same for every model.
                const std::uint64_t number = (std::uint64_t{1} << 40) + static_cast<std::uint64_t>(i) * depth_count + d;
                const Question question = plan.haystack->ask(seed, number, length, kind.needles, depths[d]);
                session.rewind(0);
                const auto logits = session.feed(question.tokens);
                row[d] += std::max_element(logits.begin(), logits.end()) - logits.begin() == question.answer;
            }
        }
    }
    return grid;
}

} // namespace

Grid<Right> train_all(const RetrievalPlan& plan, const Request& request) {
    GridPlan study{{}, plan.encodings, plan.seeds};
    for (const RetrievalKind& kind : kinds) study.conditions.push_back(recipe_of(plan, kind));
    return train_grid<Right>(study, request.seed, request.progress, [&](const Model& model, const GridCell& cell) {
        return ask(plan, kinds[cell.condition], model, request.seed);
    });
}

double share(const RetrievalPlan& plan, std::span<const Right> seeds, std::size_t times, int depth) {
    double right = 0;
    for (const Right& run : seeds) {
        if (run[times][0] < 0) return std::nan("");
        for (int d = 0; d < depth_count; ++d) right += d == depth || depth == depth_count ? run[times][d] : 0;
    }
    return right / (static_cast<double>(seeds.size()) * plan.samples * (depth == depth_count ? depth_count : 1));
}

Verdict verdict_of(const RetrievalPlan& plan, std::span<const Right> seeds, std::size_t times, double bound) {
    if (std::isnan(share(plan, seeds, times))) return Verdict::untested;
    std::set<Verdict> verdicts;
    const int asked = plan.samples * depth_count;
    for (const Right& run : seeds)
        verdicts.insert(above(wilson(std::llround(share(plan, {&run, 1}, times) * asked), asked), bound));
    return plan.quick || verdicts.size() > 1 ? Verdict::undecided : *verdicts.begin();
}

} // namespace ordo::lab::retrieval
