// SPDX-License-Identifier: MIT
// Something to be found in a text: words that stand in it behind others, and the question which stood behind one.
#pragma once

#include "ordo.h"

#include <functional>
#include <string_view>

namespace ordo::lab {

// A sequence that is fed, and the answer to what its last token asks.
struct Question {
    std::vector<Token> tokens;
    Token answer = -1;
};

// Sequences of the tokens of a tokenizer: what begins a text, the commonest tokens of a text in its order, and among
// them needles, each a key and a value next to each other. Keys and values are words that come nowhere else. Tokens are
// numbered anew, so that a small model needs no row for each of thousands that never come: 0 begins, keys and values
// follow, then hay.
class Haystack {
public:
    // text: tokens that hay is cut from. spelling: of each token of the vocabulary. Throws Error(usage) if there is too
    // little of either.
    Haystack(std::span<const Token> text, int vocabulary, Token start,
             const std::function<std::string(Token)>& spelling);

    int vocabulary() const { return static_cast<int>(tokens_.size()); } // of the new numbers
    Token original(Token number) const { return tokens_[static_cast<std::size_t>(number)]; }

    // A sequence of `length` tokens with so many needles, the last of them the key that is asked for; that needle lies
    // at depth 0 (at the beginning) to 1 (right before the question), the others anywhere. The same for the same seed
    // and number.
    Question ask(std::uint64_t seed, std::uint64_t number, int length, int needles, double depth) const;
    // The same for training: a random depth, and after the first answer every other needle is asked for too. Writes the
    // tokens and, at each key that asks, the value as target; -1 elsewhere, and token 0 behind the end.
    void train(std::uint64_t seed, std::uint64_t number, int length, int needles, std::span<Token> tokens,
               std::span<Token> targets) const;

    static bool is_key(Token number) { return number >= 1 && number <= key_count; }
    static bool is_value(Token number) { return number > key_count && number <= key_count + value_count; }

    static constexpr int key_count = 16, value_count = 32, hay_count = 463; // with the beginning 512, or fewer
    // Tokens of the shortest sequence that holds so many needles and questions for each.
    static int shortest(int needles) { return 2 + 4 * needles; }

private:
    struct Needle {
        Token key, value;
        int place; // tokens of hay before it
    };
    std::vector<Needle> draw(std::uint64_t seed, std::uint64_t number, int hay, int needles, double depth,
                             std::vector<Token>& tokens) const;

    std::vector<Token> tokens_; // the originals
    std::vector<Token> hay_;    // by the new numbers
};

} // namespace ordo::lab
