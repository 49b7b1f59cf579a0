// SPDX-License-Identifier: MIT
// The tokens of a model with their spellings in its file, and the id of each spelling.
#pragma once

#include "rows.h"
#include "text/packed_strings.h"

#include <span>

namespace ordo {

// A table that is at most half full. A spelling is in the first free place from the place of its hash on. The hash is
// keyed per process, because a file that knew the keys could choose spellings that collide.
class Vocabulary {
public:
    Vocabulary() = default;
    // keys, ids: the entries in the order of the file. Of a key that appears twice the last entry counts, or none with
    // `once`. Throws Error(model) for an empty key, for an id from `most` on, and for two keys of one id.
    Vocabulary(const PackedStrings& keys, std::span<const int> ids, std::size_t most, bool once,
               const std::string& where);

    std::size_t size() const { return spelled_.size(); }
    std::string_view operator[](std::size_t id) const { return spelled_[id]; }
    std::string_view operator[](Token id) const { return spelled_[id]; }
    Token find(std::string_view spelling) const; // absent if there is none

    static constexpr Token absent = -1;

private:
    std::size_t place_of(std::string_view spelling, const PackedStrings& spelled) const;
    std::uint64_t hash(std::string_view spelling) const;

    PackedStrings spelled_; // by id; empty if an id has no spelling
    std::vector<Token> places_{absent};
    std::uint64_t keys_[3] = {};
};

// <0x00> to <0xFF>, the byte tokens of a vocabulary with byte fallback; -1 for any other spelling. Exactly two
// hexadecimal digits, without a sign.
int byte_of_spelling(std::string_view spelling);
std::string spelling_of_byte(unsigned char byte);

} // namespace ordo
