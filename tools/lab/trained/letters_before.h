// SPDX-License-Identifier: MIT
// The task of repeating the letter that stands some places before: it needs order and nothing else.
#pragma once

#include "tools/lab/study/grid.h"
#include "tools/lab/study/prelude.h"

namespace ordo::lab {

struct LettersBefore {
    int places = 1, length = 32, steps = 600; // before; of a training text; of training
    Mask mask = Mask::causal;

    static constexpr int letters = 8;
    Recipe recipe() const {
        Recipe recipe;
        recipe.trunk = small_trunk(letters, length, 1);
        recipe.trunk.mask = mask;
        recipe.length = length, recipe.steps = steps;
        recipe.draw_each([places = places](std::uint64_t seed, std::uint64_t number, auto tokens, auto targets) {
            const Random random(seed, number);
            for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<Token>(random.below(i, letters));
            for (std::size_t i = places; i < tokens.size(); ++i) targets[i] = tokens[i - places];
        });
        return recipe;
    }
    // The share of right letters in texts of a length; of those that stand beyond `from`. Positions count from `shift`.
    double right(const Model& model, std::uint64_t seed, int at_length, int from = 0, int shift = 0) const {
        Session session(model, {.capacity = at_length, .chunk = at_length});
        std::vector<Token> tokens(at_length);
        std::vector<int> positions(at_length);
        std::iota(positions.begin(), positions.end(), shift);
        int right = 0, all = 0;
        for (std::uint64_t text = 0; text < 32; ++text) {
            const Random random(seed, (std::uint64_t{1} << 40) + text); // training never comes so far
            for (int i = 0; i < at_length; ++i) tokens[i] = static_cast<Token>(random.below(i, letters));
            session.rewind(0);
            session.feed_all(tokens, {.positions = positions}, [&](int first, View logits) {
                for (int i = 0; i < logits.rows; ++i) {
                    if (first + i < std::max(places, from)) continue;
                    const auto row = row_span(logits, i);
                    right += std::ranges::max_element(row) - row.begin() == tokens[first + i - places];
                    ++all;
                }
            });
        }
        return static_cast<double>(right) / all;
    }
};

} // namespace ordo::lab
