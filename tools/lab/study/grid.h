// SPDX-License-Identifier: MIT
// The study that experiments share: encodings x seeds x conditions. Each cell is a small model that is trained on one
// thread, beside others, and then asked.
#pragma once

#include "tools/lab/lab.h"
#include "tools/lab/study/small_models.h"

namespace ordo::lab {

// A width of 64 in so many heads.
inline Blueprint small_trunk(int vocabulary, int context, int layers, int heads = 4, int d_ff = 128) {
    Blueprint trunk;
    trunk.vocab_size = vocabulary;
    trunk.context = context;
    trunk.n_layers = layers;
    trunk.d_model = 64;
    trunk.n_heads = trunk.n_kv_heads = heads;
    trunk.d_head = 64 / heads;
    trunk.d_ff = d_ff;
    return trunk;
}

// The answers of the models, [condition][encoding][seed].
template <class Answer>
using Grid = std::vector<std::vector<std::vector<Answer>>>;

struct GridPlan {
    std::vector<Recipe> conditions;
    std::vector<int> positions; // of each condition, that its models are prepared for
    std::vector<std::string> encodings;
    int seeds = 1;
};

struct GridCell {
    std::size_t condition, encoding;
    std::uint64_t seed;
    int steps; // that training took
};

// ask(model, cell) is called once for each cell, on the thread that trained it. Seeds follow the given one. Throws what
// check_recipe() throws, before any model is trained.
template <class Answer, class Ask>
Grid<Answer> train_grid(const GridPlan& plan, std::uint64_t seed,
                        const std::function<void(const std::string&)>& progress, const Ask& ask) {
    const auto conditions = plan.conditions.size(), encodings = plan.encodings.size(),
               seeds = static_cast<std::size_t>(plan.seeds), each = encodings * seeds;
    std::int64_t steps = 0;
    for (const Recipe& recipe : plan.conditions) {
        steps += recipe.steps;
        for (const std::string& spec : plan.encodings) check_recipe(recipe, spec);
    }
    Grid<Answer> grid(conditions, std::vector<std::vector<Answer>>(encodings, std::vector<Answer>(seeds)));
    Meter meter(steps * static_cast<std::int64_t>(each), "training", progress);
    side_by_side(static_cast<int>(conditions * each), [&](int run) {
        const auto at = static_cast<std::size_t>(run);
        GridCell cell{at / each, at % each / seeds, seed + at % seeds, 0};
        const Model model = small_model(plan.conditions[cell.condition], plan.encodings[cell.encoding], cell.seed,
                                        plan.positions[cell.condition], meter, &cell.steps);
        grid[cell.condition][cell.encoding][at % seeds] = ask(model, cell);
    });
    return grid;
}

} // namespace ordo::lab
