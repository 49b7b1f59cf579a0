// SPDX-License-Identifier: MIT
// The study that experiments share: encodings x seeds x conditions. Each cell trains a small model on one thread, in
// parallel with other cells, and then queries it.
#pragma once

#include "tools/lab/lab.h"
#include "tools/lab/study/small_models.h"

namespace ordo::lab {

// The answers of the models, [condition][encoding][seed].
template <class Answer>
using Grid = std::vector<std::vector<std::vector<Answer>>>;

struct GridPlan {
    std::vector<Recipe> conditions;
    std::vector<std::string> encodings;
    int seeds = 1;
};

struct GridCell {
    std::size_t condition, encoding;
    std::uint64_t seed;
    int steps; // the training steps
};

// Calls ask(model, cell) once for each cell, on the thread that trained it. Seeds count up from the given one. Throws
// the errors of check_recipe() before training any model.
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
        const Model model =
            small_model(plan.conditions[cell.condition], plan.encodings[cell.encoding], cell.seed, meter, &cell.steps);
        grid[cell.condition][cell.encoding][at % seeds] = ask(model, cell);
    });
    return grid;
}

} // namespace ordo::lab
