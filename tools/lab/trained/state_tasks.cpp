// SPDX-License-Identifier: MIT
#include "tools/lab/trained/examples.h"

namespace ordo::lab {

// > 1 0 1 1 = 1 .: the parity of all bits, asked once. A running answer carries the state along; this one does not.
Example last_parity(std::uint64_t seed, std::uint64_t index, int length) {
    Draws draws(seed, index);
    const std::vector<int> bits = draw(draws, length, 2);
    Writer w;
    w.given(start);
    for (const int bit : bits) w.given(first_digit + bit);
    w.given(equals);
    w.answer(first_digit + std::accumulate(bits.begin(), bits.end(), 0) % 2);
    w.answer(end);
    return w.example;
}

// > w 1 i 0 i 1 w 0 i 1 = 0 .: the bit that was written last; one in four is written, after the first, and the others
// are to be ignored. Liu et al. 2023, arXiv 2306.00946.
Example flip_flop(std::uint64_t seed, std::uint64_t index, int length) {
    Draws draws(seed, index);
    Writer w;
    w.given(start);
    int stored = 0;
    for (int i = 0; i < length; ++i) {
        const bool writes = i == 0 || draws.below(4) == 0;
        const int bit = draws.below(2);
        if (writes) stored = bit;
        w.given(first_letter + (writes ? 'w' - 'a' : 'i' - 'a'));
        w.given(first_digit + bit);
    }
    w.given(equals);
    w.answer(first_digit + stored);
    w.answer(end);
    return w.example;
}

// > b j a = 2 0 1 3 4 .: five things in a row, of which each letter swaps two places, a the first two and j the last
// two; then the row. Swaps generate all permutations of five, the smallest group that shallow models cannot follow
// (Merrill et al. 2024, arXiv 2404.08819).
constexpr int swaps = things * (things - 1) / 2;
Example permutation(std::uint64_t seed, std::uint64_t index, int length) {
    Draws draws(seed, index);
    std::vector<std::pair<int, int>> places;
    for (int a = 0; a < things; ++a)
        for (int b = a + 1; b < things; ++b) places.emplace_back(a, b);
    std::vector<int> row(things);
    std::iota(row.begin(), row.end(), 0);
    Writer w;
    w.given(start);
    for (const int swap : draw(draws, length, swaps)) {
        w.given(first_letter + swap);
        std::swap(row[places[swap].first], row[places[swap].second]);
    }
    w.given(equals);
    for (const int x : row) w.answer(first_digit + x);
    w.answer(end);
    return w.example;
}

// > d q c m z c + 2 = z .: the letter that stands so many places behind a letter of the word. All letters differ.
// Gopalakrishnan et al. 2025, arXiv 2509.10534.
Example indirect(std::uint64_t seed, std::uint64_t index, int length) {
    Draws draws(seed, index);
    std::vector<int> word(letters);
    std::iota(word.begin(), word.end(), 0);
    shuffle_forward(std::span(word),
                    [&draws](std::size_t, std::size_t left) { return draws.below(static_cast<int>(left)); });
    const int from = draws.below(length), by = draws.below(std::min(10, length - from));
    Writer w;
    w.given(start);
    for (int i = 0; i < length; ++i) w.given(first_letter + word[i]);
    w.given(first_letter + word[from]);
    w.given(plus);
    w.given(first_digit + by);
    w.given(equals);
    w.answer(first_letter + word[from + by]);
    w.answer(end);
    return w.example;
}

} // namespace ordo::lab
