// SPDX-License-Identifier: MIT
// Who hunts whom: a question whose answer is in the order of two words.
#pragma once

#include "tools/lab/study/prelude.h"
#include "tools/lab/study/small_models.h"

namespace ordo::lab {

// Sentences "cat chases mouse hunter cat" and "cat chases mouse prey mouse" over all ordered pairs of ten animals. A
// seed holds out some pairs, in both orders, for the questions.
struct Chase {
    double accuracy = 0; // how often the correct one of the two is likelier
    double change = 0;   // the largest change of any word's probability when the two are swapped
};
inline constexpr int chase_kept = 11; // of the 45 pairs

Recipe chase_recipe(int layers, int steps);
Chase ask_chase(const Model& model, std::uint64_t seed);
Share accuracy_of(const std::vector<Chase>& seeds); // the mean, with its interval

} // namespace ordo::lab
