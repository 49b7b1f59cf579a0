// SPDX-License-Identifier: MIT
// The sorted spellings of a vocabulary, to find all spellings that are prefixes of a text. A binary search finds the
// longest of them. The others are its prefixes, and each spelling has a link to its longest proper prefix.
#pragma once

#include "text/vocabulary.h"

#include <array>

namespace ordo {

class PrefixIndex {
public:
    // Longer spellings are refused: a place in a text may cost a step for each byte of the longest.
    static constexpr std::size_t max_length = 512;

    // Indexes the spellings that begin with `prefix`, and removes it from them. The vocabulary must outlive the index.
    // Throws Error(model).
    PrefixIndex(const Vocabulary& vocabulary, const std::string& where, std::string_view prefix = {});

    struct Entry {
        Token token;
        std::uint32_t shorter; // the longest entry that is a prefix of this one, or none
        std::uint32_t size;    // bytes
    };
    // The longest entry that is a prefix of a non-empty text; nullptr if there is none.
    const Entry* longest(std::string_view text) const;
    const Entry* shorter(const Entry& entry) const { return at(entry.shorter); }

private:
    static constexpr std::uint32_t none = 0xffffffff;
    const Entry* at(std::uint32_t i) const { return i == none ? nullptr : &entries_[i]; }
    std::string_view text(const Entry& entry) const { return vocabulary_[entry.token].substr(prefix_bytes_); }

    const Vocabulary& vocabulary_;
    std::size_t prefix_bytes_;
    std::vector<Entry> entries_;                // by text
    std::array<std::uint32_t, 257> first_of_{}; // the first entry with each first byte
};

} // namespace ordo
