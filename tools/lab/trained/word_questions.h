// SPDX-License-Identifier: MIT
// The two kinds of questions of `word-order`. Each is asked of a model trained within the experiment.
#pragma once

#include "tools/lab/study/grid.h"
#include "tools/lab/study/prelude.h"
#include "tools/lab/trained/chase.h"
#include "tools/lab/trained/word_corpus.h"

namespace ordo::lab {

// ---- Three prompts and the next word ----------------------------------------------------------

// The answers of a model, or of a distribution in its place. NaN: cannot be asked.
struct Answers {
    double food_is = 0;       // distance of its next word after "food is" from the words after "is"
    double food_is_truth = 0; // from the words after the beginning "food is"
    double good_is = 0;       // distance of its next word after "good is" from the words after "is"
    double food_next = 0;     // P("food") after "carbohydrates are"
    double right_next = 0;    // P(the corpus' likeliest next word) there
    double food_in_place = 0; // P("food") at its place in the corpus, further on in that sentence
    double loss = 0;          // nats per word over the corpus
};

// Empty, or -1: the corpus lacks one of the words, and the question cannot be asked.
struct Prompts {
    std::vector<Token> food_is, good_is, carbohydrates_are, before_food; // before_food: empty if there is none, too
    Token food, is;
};
Prompts prompts_of(const WordCorpus& corpus);

// The answers of a distribution that does not depend on the prompt.
Answers answers_of(const WordCorpus& corpus, const Prompts& prompts, const Distribution& always);
// The answers from the corpus' own counts.
Answers answers_of(const WordCorpus& corpus, const Prompts& prompts);
Answers answers_of(const WordCorpus& corpus, const Prompts& prompts, const Model& model);

// One layer of eight narrow heads. Each step uses the whole corpus if it is small.
Recipe corpus_recipe(const WordCorpus& corpus, int steps);

// ---- The answers of several seeds, with intervals, and the expectations ------------------------

inline constexpr int layer_counts[] = {1, 2}; // for the question of order; the three prompts use one layer
inline constexpr std::size_t model_depths = std::size(layer_counts);

// The answers of all seeds of one encoding.
struct WordRow {
    std::string encoding;
    bool silent = false; // carries no information on position
    std::vector<Answers> trained, untrained;
    std::vector<Chase> chase[model_depths];
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

// Each expectation with the models that miss it and the models for which the interval over the seeds is undecided.
Expectations expectations_of(const std::vector<WordRow>& rows, const WordLines& lines);

// ---- The study --------------------------------------------------------------------------------

struct WordPlan {
    WordCorpus corpus;
    Prompts prompts;
    int seeds, corpus_steps, chase_steps;
};

WordPlan word_plan(const Request& request);
// Trains and asks the models of every encoding and seed.
std::vector<WordRow> train_all(const WordPlan& plan, const Request& request);
WordLines lines_of(const WordPlan& plan, const std::vector<WordRow>& rows);

} // namespace ordo::lab
