// SPDX-License-Identifier: MIT
// The spellings of a vocabulary in their order, for those with which a text begins. The longest of them is found by a
// binary search; the others are its beginnings, and each spelling knows the longest of its own.
#pragma once

#include "text/vocabulary.h"

#include <array>

namespace ordo {

class PrefixIndex {
public:
    // Longer spellings are refused: a place in a text may cost a step for each byte of the longest.
    static constexpr std::size_t max_length = 512;

    // Of the spellings that begin with a prefix, which is then left out of them. The vocabulary must outlive the index.
    // Throws Error(model).
    PrefixIndex(const Vocabulary& vocabulary, const std::string& where, std::string_view prefix = {});

    struct Entry {
        Token token;
        std::uint32_t shorter; // the longest entry that this one begins with, or none
        std::uint32_t size;    // bytes
    };
    // The longest entry with which a text that is not empty begins; nullptr if there is none.
    const Entry* longest(std::string_view text) const;
    const Entry* shorter(const Entry& entry) const { return at(entry.shorter); }

private:
    static constexpr std::uint32_t none = 0xffffffff;
    const Entry* at(std::uint32_t i) const { return i == none ? nullptr : &entries_[i]; }
    std::string_view text(const Entry& entry) const { return vocabulary_[entry.token].substr(prefix_bytes_); }

    const Vocabulary& vocabulary_;
    std::size_t prefix_bytes_;
    std::vector<Entry> entries_;                // by text
    std::array<std::uint32_t, 257> first_of_{}; // where those begin that begin with a byte
};

} // namespace ordo
