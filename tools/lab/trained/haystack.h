// SPDX-License-Identifier: MIT
// A retrieval task: a text contains key words followed by value words, and a question asks for the value of one key.
#pragma once

#include "tools/lab/shipped/weight_files.h"

namespace ordo::lab {

// An input sequence, and the answer to its last token.
struct Question {
    std::vector<Token> tokens;
    Token answer = -1;
};

// Sequences of a tokenizer's tokens: a start token, then the commonest tokens of a text in its order (the hay).
// Needles, each a key followed by a value, are inserted into it. Keys and values are words that occur nowhere else.
// Tokens are renumbered, so that a small model needs no rows for the thousands of unused ones: 0 is the start, then
// come keys, values and hay.
class Haystack {
public:
    // text: the tokens that hay is cut from. spelling: of each token of the vocabulary. Throws Error(usage) if either
    // has too little.
    Haystack(std::span<const Token> text, int vocabulary, Token start,
             const std::function<std::string(Token)>& spelling);

    int vocabulary() const { return static_cast<int>(tokens_.size()); } // of the new numbers
    Token original(Token number) const { return tokens_[number]; }

    // A sequence of `length` tokens with several needles; its last token is the key of the question. That needle is at
    // depth 0 (the beginning) to 1 (right before the question), the others anywhere. The same seed and number give the
    // same sequence.
    Question ask(std::uint64_t seed, std::uint64_t number, int length, int needles, double depth) const;
    // The same for training, with a random depth. After the first answer it asks for every other needle, too. Writes
    // the tokens, and the value as target at each key that asks. Before, tokens are 0 and targets -1.
    void train(std::uint64_t seed, std::uint64_t number, int length, int needles, std::span<Token> tokens,
               std::span<Token> targets) const;

    static bool is_key(Token number) { return number >= 1 && number <= key_count; }
    static bool is_value(Token number) { return number > key_count && number <= key_count + value_count; }

    static constexpr int key_count = 16, value_count = 32, hay_count = 463; // with the start token 512, or fewer
    // The length of the shortest sequence with this many needles and a question for each.
    static int shortest(int needles) { return 2 + 4 * needles; }

private:
    struct Needle {
        Token key, value;
        int place; // the number of hay tokens before it
    };
    std::vector<Needle> draw(std::uint64_t seed, std::uint64_t number, int hay, int needles, double depth,
                             std::vector<Token>& tokens) const;

    std::vector<Token> tokens_; // the originals
    std::vector<Token> hay_;    // by the new numbers
};

// Of a text, in the tokens of a model.
Haystack haystack_of(const Model& model, const Text& text);

} // namespace ordo::lab
