// SPDX-License-Identifier: MIT
// The spellings of a vocabulary in their order, for those with which a text begins: those that begin with what has
// been read of it so far are a range, which each byte narrows.
#pragma once

#include "text/vocabulary.h"

#include <array>

namespace ordo {

class PrefixIndex {
public:
    // Longer ones are refused: a place in a text may cost a step for each byte of the longest.
    static constexpr std::size_t max_length = 512;

    PrefixIndex(const Vocabulary& vocabulary, const std::string& where); // which must outlive it

    struct Range {
        std::uint32_t begin, end; // of order_
        std::uint32_t depth;      // bytes that they share
    };
    Range all() const { return {0, static_cast<std::uint32_t>(order_.size()), 0}; }
    // Those of a range whose next byte this is; false if there is none, and the range is spoiled.
    bool extend(Range& range, unsigned char byte) const;
    // The one of a range that has no further byte; Vocabulary::absent if there is none.
    Token whole(const Range& range) const {
        const Token first = order_[range.begin];
        return vocabulary_[first].size() == range.depth ? first : Vocabulary::absent;
    }

private:
    const Vocabulary& vocabulary_;
    std::vector<Token> order_;
    std::array<std::uint32_t, 257> first_of_{}; // the ranges of the first byte
};

} // namespace ordo
