// SPDX-License-Identifier: MIT
// The two kinds of questions of `word-order`. Each is asked of a model trained within the experiment.
#pragma once

#include "tools/lab/study/grid.h"
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
// The prompts' words that the corpus lacks: "'carbohydrates', 'are'".
std::string missing_words(const WordCorpus& corpus);

// The answers of a distribution that does not depend on the prompt.
Answers answers_of(const WordCorpus& corpus, const Prompts& prompts, const Distribution& always);
// The answers from the corpus' own counts.
Answers answers_of(const WordCorpus& corpus, const Prompts& prompts);
Answers answers_of(const WordCorpus& corpus, const Prompts& prompts, const Model& model);

// One layer of eight narrow heads. Each step uses the whole corpus if it is small.
Recipe corpus_recipe(const WordCorpus& corpus, int steps);

// ---- Who hunts whom ---------------------------------------------------------------------------

// Sentences "cat chases mouse hunter cat" and "cat chases mouse prey mouse" over all ordered pairs of ten animals. A
// seed holds out some pairs, in both orders, for the questions.
struct Chase {
    double accuracy = 0; // how often the correct one of the two is likelier
    double change = 0;   // the largest change of any word's probability when the two are swapped
};
inline constexpr int chase_kept = 11; // of the 45 pairs

Recipe chase_recipe(int layers, int steps);
Chase ask_chase(const Model& model, std::uint64_t seed);

} // namespace ordo::lab
