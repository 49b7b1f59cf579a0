// SPDX-License-Identifier: MIT
// Figures published by "Investigating Transformer Positional Encodings", and baselines that it lacks, computed from the
// word counts of its corpus. Both are from github.com/benkurzion/Transformer, Ben_Kurzion_Project_Report.md and
// sample_data.txt.
#pragma once

#include "tools/lab/study/prelude.h"

namespace ordo::lab::study_data {

// Sinusoidal, ALiBi, rotary, none, custom, and custom with a period of 6, which the first experiment lacks.
inline constexpr std::array food_is = {.72238, .70442, .71397, .71689, .67857};         // distance, lower is better
inline constexpr std::array good_is = {.71945, .69849, .70073, .70651, .63541, .68950}; // distance, higher is better
inline constexpr std::array food_next = {.024842, .019396, .022546,
                                         .019546, .001367, .025811}; // P(food), higher is better

inline constexpr int sentences = 19, words = 91; // of the corpus; its program runs them together
// How often the words "good" and "food" occur in it, and how often next to "is".
inline constexpr int good = 5, good_beside_is = 4, food = 19, food_beside_is = 6;
inline constexpr int vocabulary = 40, heads = 16, width = 128, length = 4, batch = 32;

// Jensen-Shannon distance from the words that follow "is".
struct Lines {
    double uniform = 0;  // of a uniform guess over the vocabulary
    double unigram = 0;  // of the word frequencies
    double by_heart = 0; // of the words that follow "food is"
};
Lines lines();
// The baselines, as text for a note.
std::string beside();

} // namespace ordo::lab::study_data
