// SPDX-License-Identifier: MIT
// The symbols of tasks, and their examples as they are drawn and written.
#pragma once

#include "tools/lab/study/prelude.h"
#include "tools/lab/trained/synthetic.h"

namespace ordo::lab {

// All tasks share one alphabet. Keys and values are letters, numbers are digits.
inline constexpr Token start = 0, equals = 1, end = end_of_answer, plus = 3, first_digit = 4, first_letter = 14;
inline constexpr int letters = 26, pair_keys = 16;
inline constexpr Token first_key = first_letter + letters;

// Random numbers of one example, in the order of the calls.
class Draws {
public:
    Draws(std::uint64_t seed, std::uint64_t example) : random_(seed, 0x7a5c), next_(example << 20) {}
    int below(int n) { return static_cast<int>(random_.below(next_++, static_cast<std::uint64_t>(n))); }

private:
    Random random_;
    std::uint64_t next_;
};

struct Writer {
    Example example;

    void given(Token token) { put(token, false); }
    void answer(Token token) { put(token, true); }
    void put(Token token, bool scored) {
        example.tokens.push_back(token);
        example.scored.push_back(scored);
    }
};

inline std::vector<int> draw(Draws& draws, int count, int below) {
    std::vector<int> out;
    for (int i = 0; i < count; ++i) out.push_back(draws.below(below));
    return out;
}

// ---- Tasks that ask for a state, or for a place; in state_tasks.cpp ----------------------------

inline constexpr int things = 5; // of permutation()
Example last_parity(std::uint64_t seed, std::uint64_t index, int length);
Example flip_flop(std::uint64_t seed, std::uint64_t index, int length);
Example permutation(std::uint64_t seed, std::uint64_t index, int length);
Example indirect(std::uint64_t seed, std::uint64_t index, int length);

} // namespace ordo::lab
