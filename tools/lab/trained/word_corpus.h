// SPDX-License-Identifier: MIT
// A small text as sentences of words, and next-word statistics from its counts: baselines for a model's predictions.
#pragma once

#include "rows.h"

namespace ordo::lab {

struct WordCorpus {
    std::vector<std::string> words;            // by token; token 0 ends a sentence and precedes the first word
    std::vector<std::vector<Token>> sentences; // without their ends
    std::size_t longest = 0;                   // words in a sentence

    // -1 if the word is not in the corpus.
    Token find(std::string_view word) const;
    // Empty if the corpus lacks one of the words.
    std::vector<Token> tokens(std::string_view words) const;
};

// Splits words at white space and sentences at lines; skips empty lines. name: for messages. Throws Error(limit) for a
// text without words or with too many, or for a sentence that is too long.
WordCorpus parse_corpus(std::string_view text, std::string_view name);
// Twenty plain sentences about food that suit the questions of `word-order`.
WordCorpus built_in_corpus();

// The probability of each word, including the end of a sentence.
using Distribution = std::vector<double>;
Distribution uniform(const WordCorpus& corpus);
Distribution unigram(const WordCorpus& corpus);
// Over the words that follow `word` anywhere. Empty if none does.
Distribution after_word(const WordCorpus& corpus, Token word);
// Over the words that follow this beginning of a sentence: the prediction of a model that knows the corpus by heart.
// Empty if no sentence begins so.
Distribution after_beginning(const WordCorpus& corpus, std::span<const Token> beginning);

// The square root of the Jensen-Shannon divergence in nats: 0 .. sqrt(ln 2) (Endres and Schindelin 2003).
double js_distance(const Distribution& p, const Distribution& q);

} // namespace ordo::lab
