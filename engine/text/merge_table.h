// SPDX-License-Identifier: MIT
// The merges of a BPE, applied to one piece in O(n log n).
#pragma once

#include "rows.h"

#include <cstdint>
#include <vector>

namespace ordo {

struct Merge {
    Token left = 0;
    Token right = 0;
    Token product = 0;
};

class MergeTable {
public:
    static constexpr std::uint32_t none = 0xffffffff;

    MergeTable() = default;
    // Ids are 0 .. n_tokens - 1. Of equal pairs the first is used.
    MergeTable(std::vector<Merge> merges, std::size_t n_tokens);

    const std::vector<Merge>& merges() const { return merges_; }
    // The index of a pair in merges(); none if it is missing.
    std::uint32_t rank(Token left, Token right) const;

    // Memory that apply() reuses between calls.
    struct Scratch {
        struct Symbol {
            Token id;
            std::uint32_t prev, next; // neighbours; none at the ends
            std::uint32_t rank;       // of the pair with the next one; none once merged away
        };
        std::vector<Symbol> symbols;
        std::vector<std::uint64_t> heap; // rank << 32 | index of the left symbol, the least on top
    };
    // Merges the ids in place: the lowest rank first, then the leftmost.
    void apply(std::vector<Token>& ids, std::size_t begin, Scratch& scratch) const;
    // The same with little memory besides the ids, for long pieces. It holds little more than `most` pairs at a time.
    void apply_in_place(std::vector<Token>& ids, std::size_t begin, std::size_t most = std::size_t{1} << 19) const;

private:
    struct Entry {
        Token right;
        std::uint32_t rank;
    };
    std::vector<Merge> merges_;
    std::vector<Entry> entries_;          // by left, then right
    std::vector<std::uint32_t> first_of_; // [n_tokens + 1]: entries_ of one left
};

} // namespace ordo
