// SPDX-License-Identifier: MIT
// The tokens of a model as its file spells them, and the way back from a spelling to its id.
#pragma once

#include "ordo.h"
#include "text/packed_strings.h"

namespace ordo {

// A table at most half full, in which a spelling stands at the first free place from that which its hash names. The
// hash has keys of the process, since a file that knew it could choose spellings that collide.
class Vocabulary {
public:
    Vocabulary() = default;
    // spelled: that of each id, empty where an id has none; none twice, or Error(model).
    Vocabulary(PackedStrings spelled, const std::string& where);

    std::size_t size() const { return spelled_.size(); }
    std::string_view operator[](std::size_t id) const { return spelled_[id]; }
    std::string_view operator[](Token id) const { return spelled_[static_cast<std::size_t>(id)]; }
    Token find(std::string_view spelling) const; // absent if there is none

    static constexpr Token absent = -1;

private:
    std::size_t place_of(std::string_view spelling) const;
    std::uint64_t hash(std::string_view spelling) const;

    PackedStrings spelled_;
    std::vector<Token> places_{absent};
    std::uint64_t keys_[3] = {};
};

// <0x00> to <0xFF>, which stand for bytes where a vocabulary falls back to them; -1 for any other spelling. Two
// hexadecimal digits, no more and no sign.
int byte_of_spelling(std::string_view spelling);
std::string spelling_of_byte(unsigned char byte);

} // namespace ordo
