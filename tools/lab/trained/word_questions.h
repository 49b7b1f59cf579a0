// SPDX-License-Identifier: MIT
// The two kinds of questions of `word-order`, each asked of one model that is trained on the spot.
#pragma once

#include "tools/lab/study/grid.h"
#include "tools/lab/trained/word_corpus.h"

namespace ordo::lab {

// ---- Three prompts and the next word ----------------------------------------------------------

// What a model, or a distribution in its place, makes of the prompts. NaN: cannot be asked.
struct Answers {
    double food_is = 0;       // distance of its next word after "food is" from the words after "is"
    double food_is_truth = 0; // from the words after the beginning "food is"
    double good_is = 0;       // distance of its next word after "good is" from the words after "is"
    double food_next = 0;     // P("food") after "carbohydrates are"
    double right_next = 0;    // P(what the corpus goes on with) there, the likeliest such word
    double food_in_place = 0; // P("food") where the corpus has it, further on in that sentence
    double loss = 0;          // nats a word over the corpus
};

// Empty, or -1: the corpus lacks a word of it, so that it cannot be asked.
struct Prompts {
    std::vector<Token> food_is, good_is, carbohydrates_are, before_food; // before_food: also if there is none
    Token food, is;
};
Prompts prompts_of(const WordCorpus& corpus);
// The words of the prompts that the corpus lacks: "'carbohydrates', 'are'".
std::string missing_words(const WordCorpus& corpus);

// What a distribution that does not look at the prompt answers.
Answers answers_of(const WordCorpus& corpus, const Prompts& prompts, const Distribution& always);
// What the corpus' own counts answer.
Answers answers_of(const WordCorpus& corpus, const Prompts& prompts);
Answers answers_of(const WordCorpus& corpus, const Prompts& prompts, const Model& model);

// One layer of eight narrow heads, and all of the corpus in each step if it is small.
Recipe corpus_recipe(const WordCorpus& corpus, int steps);

// ---- Who hunts whom ---------------------------------------------------------------------------

// Sentences "cat chases mouse hunter cat" and "cat chases mouse prey mouse" over all ordered pairs of ten
// animals. The pairs that a seed keeps back, in both orders, are asked afterwards.
struct Chase {
    double accuracy = 0; // how often the right one of the two is the likelier
    double change = 0;   // the largest change of any word's probability when the two change places
};
inline constexpr int chase_kept = 11; // of the 45 pairs

Recipe chase_recipe(int layers, int steps);
Chase ask_chase(const Model& model, std::uint64_t seed);

} // namespace ordo::lab
