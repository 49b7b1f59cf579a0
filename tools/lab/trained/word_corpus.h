// SPDX-License-Identifier: MIT
// A small text as sentences of words, and what its counts say of the next word: the lines beside which a
// model's predictions can be read.
#pragma once

#include "ordo.h"

namespace ordo::lab {

struct WordCorpus {
    std::vector<std::string> words;            // by token; token 0 ends a sentence and stands before the first word
    std::vector<std::vector<Token>> sentences; // without their ends
    std::size_t longest = 0;                   // words of a sentence

    // -1 if the corpus does not have it.
    Token find(std::string_view word) const;
    // Empty if the corpus lacks a word.
    std::vector<Token> tokens(std::string_view words) const;
};

// Words by white space, sentences by line, empty lines left out. name: for messages. Throws Error(limit) for a
// text without words or with too many, or a sentence too long.
WordCorpus parse_corpus(std::string_view text, std::string_view name);
// Twenty plain sentences about food, in which the questions of `word-order` make sense.
WordCorpus built_in_corpus();

// Probabilities of each word, the end of a sentence included.
using Distribution = std::vector<double>;
Distribution uniform(const WordCorpus& corpus);
Distribution unigram(const WordCorpus& corpus);
// Of what follows the word, wherever it stands. Empty if nothing does.
Distribution after_word(const WordCorpus& corpus, Token word);
// Of what follows in the sentences that begin so: what a model that knows the corpus by heart predicts. Empty
// if none does.
Distribution after_beginning(const WordCorpus& corpus, std::span<const Token> beginning);
// Nats a word that even this leaves open, over all words and ends of sentences.
double entropy_after_beginnings(const WordCorpus& corpus);

// The square root of the Jensen-Shannon divergence in nats: 0 .. sqrt(ln 2) (Endres and Schindelin 2003).
double js_distance(const Distribution& p, const Distribution& q);

} // namespace ordo::lab
