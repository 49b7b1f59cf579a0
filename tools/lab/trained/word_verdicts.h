// SPDX-License-Identifier: MIT
// The answers of models of several seeds to the questions of `word-order`, with intervals, and the expectations.
#pragma once

#include "tools/lab/math/statistics.h"
#include "tools/lab/study/judgement.h"
#include "tools/lab/trained/word_questions.h"

#include <numbers>

namespace ordo::lab {

inline constexpr int layer_counts[] = {1, 2}; // for the question of order; the three prompts use one layer
inline constexpr std::size_t depths = std::size(layer_counts);

// The answers of all seeds of one encoding.
struct WordRow {
    std::string encoding;
    bool silent = false; // carries no information on position
    std::vector<Answers> trained, untrained;
    std::vector<Chase> chase[depths];
};

// Baselines for the trained models.
struct WordLines {
    Answers uniform, unigram, conditional;
    std::vector<Answers> untrained; // for all encodings and seeds
};

struct Field {
    const char* name;
    double Answers::*value;
    double largest; // the largest possible value; 0: unbounded
};
inline const double largest_distance = std::sqrt(std::numbers::ln2); // Jensen-Shannon, in nats

inline const Field food_is{"js_food_is", &Answers::food_is, largest_distance},
    good_is{"js_good_is", &Answers::good_is, largest_distance}, food_next{"p_food_next", &Answers::food_next, 1},
    truth{"js_to_conditional", &Answers::food_is_truth, largest_distance},
    right_next{"p_right_next", &Answers::right_next, 1}, in_place{"p_food_in_place", &Answers::food_in_place, 1},
    loss{"nats_per_word", &Answers::loss, 0};

// The mean over the seeds, and its 95 % interval within the possible range.
Share over_seeds(const std::vector<Answers>& answers, const Field& field);
Share accuracy_of(const std::vector<Chase>& chases);

// Each expectation with the models that miss it and the models for which the interval over the seeds is undecided.
Expectations expectations_of(const std::vector<WordRow>& rows, const WordLines& lines);

} // namespace ordo::lab
