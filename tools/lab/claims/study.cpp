// SPDX-License-Identifier: MIT
#include "tools/lab/claims/study.h"

#include "tools/lab/trained/word_corpus.h"

namespace ordo::lab::study_data {

namespace {

// How often good, a, red and baked occur, and all other words together. The other words may count as one word: none of
// them follows "is", so the distance depends only on the sum of their probabilities.
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

std::string range(std::span<const double> values, int decimals) {
    const Sample all = sample_of(values);
    return fixed_text(all.least(), decimals) + " to " + fixed_text(all.most(), decimals);
}

} // namespace

Lines lines() {
    return {from_after_is(one_each), from_after_is(anywhere), from_after_is(after_food_is)};
}

std::string beside() {
    const Lines line = lines();
    return text("The published figures (Ben Kurzion, github.com/benkurzion/Transformer, another corpus and "
                "vocabulary): after \"food is\" ",
                range(food_is, 3), ", after \"good is\" ", range(good_is, 3), ", P(food) ", range(food_next, 4),
                ". With the ", vocabulary, " tokens of that program and the counts of its corpus, an even guess has ",
                figure(line.uniform, 4), ", the word frequencies have ", figure(line.unigram, 4),
                " and the words after \"food is\" ", figure(line.by_heart, 4), ". An even guess has P(food) ",
                figure(1.0 / vocabulary),
                ", and that corpus 0. That program splits heads by a reshape that mixes words and features, so neither "
                "its encodings nor its mask act on the order of words.");
}

} // namespace ordo::lab::study_data
