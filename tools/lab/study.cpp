// SPDX-License-Identifier: MIT
#include "tools/lab/study.h"

#include "tools/lab/word_corpus.h"

#include <numeric>

namespace ordo::lab::study_data {

namespace {

// How often good, a, red, baked stand somewhere, and all other words together. These may be one: none of them
// follows "is", so that of their probabilities the distance depends on the sum alone.
using Counts = std::array<int, 5>;
constexpr Counts after_is = {4, 3, 3, 1, 0}, after_food_is = {3, 0, 2, 1, 0}, anywhere = {5, 4, 4, 2, words - 15},
                 one_each = {1, 1, 1, 1, vocabulary - 4};

Distribution shares(const Counts& counts) {
    Distribution out(counts.begin(), counts.end());
    for (double& share : out) share /= std::accumulate(counts.begin(), counts.end(), 0);
    return out;
}

double from_after_is(const Counts& counts) {
    return js_distance(shares(counts), shares(after_is));
}

} // namespace

Lines lines() {
    return {from_after_is(one_each), from_after_is(anywhere), from_after_is(after_food_is)};
}

} // namespace ordo::lab::study_data
