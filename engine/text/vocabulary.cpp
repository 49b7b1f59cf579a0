// SPDX-License-Identifier: MIT
#include "text/vocabulary.h"

#include "core/error.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>

namespace ordo {

// The table has the index of each entry first, and then its id.
Vocabulary::Vocabulary(const PackedStrings& keys, std::span<const int> ids, std::size_t most, bool once,
                       const std::string& where)
    : places_(std::bit_ceil(2 * keys.size() + 1), absent) {
    std::random_device device;
    for (std::uint64_t& key : keys_) key = std::uint64_t{device()} << 32 | device();
    std::vector<bool> counts(keys.size(), true);
    for (std::size_t i = 0; i < keys.size(); ++i) {
        Token& place = places_[place_of(keys[i], keys)];
        if (place != absent && once) fail(ErrorCode::model, where, ": key '", printable(keys[i]), "' appears twice");
        if (place != absent) counts[place] = false;
        place = static_cast<Token>(i);
    }
    std::vector<std::string_view> spelled; // its pages are touched as far as there are ids
    spelled.reserve(most);
    for (std::size_t i = 0; i < keys.size(); ++i) {
        if (!counts[i]) continue;
        const std::string_view key = keys[i];
        const auto id = static_cast<std::size_t>(ids[i]);
        if (id >= most)
            fail(ErrorCode::model, where, ": '", printable(key), "': expected an integer from 0 to ", most - 1,
                 ", found ", id);
        if (id >= spelled.size()) spelled.resize(id + 1);
        if (key.empty()) fail(ErrorCode::model, where, ": expected tokens of at least a byte, found an empty one");
        if (!spelled[id].empty())
            fail(ErrorCode::model, where, ": id ", id, ": expected one token, found \"", printable(spelled[id]),
                 "\" and \"", printable(key), '"');
        spelled[id] = key;
    }
    for (const std::string_view token : spelled) spelled_.add(token);
    for (Token& place : places_)
        if (place != absent) place = ids[place];
}

Token Vocabulary::find(std::string_view spelling) const { // no spelling is empty
    return places_[place_of(spelling, spelled_)];
}

// The place of a spelling in the table, or its place if it were added.
std::size_t Vocabulary::place_of(std::string_view spelling, const PackedStrings& spelled) const {
    const std::size_t mask = places_.size() - 1;
    std::size_t i = hash(spelling) & mask;
    while (places_[i] != absent && spelled[static_cast<std::size_t>(places_[i])] != spelling) i = (i + 1) & mask;
    return i;
}

// Folds products of 128 bits, as in wyhash.
std::uint64_t Vocabulary::hash(std::string_view spelling) const {
    const auto mix = [](std::uint64_t a, std::uint64_t b) {
        __extension__ using Wide = unsigned __int128;
        const Wide product = Wide{a} * b;
        return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
    };
    std::uint64_t h = keys_[0] ^ spelling.size();
    while (!spelling.empty()) {
        const std::size_t n = std::min<std::size_t>(8, spelling.size());
        std::uint64_t word = 0;
        std::memcpy(&word, spelling.data(), n);
        h = mix(word ^ keys_[1], h ^ keys_[2]);
        spelling.remove_prefix(n);
    }
    return h;
}

int byte_of_spelling(std::string_view spelling) {
    if (spelling.size() != 6 || !spelling.starts_with("<0x") || spelling[5] != '>') return -1;
    const auto digit = [](char c) {
        if (c >= '0' && c <= '9') return c - '0';
        if (c >= 'A' && c <= 'F') return c - 'A' + 10;
        if (c >= 'a' && c <= 'f') return c - 'a' + 10;
        return -1;
    };
    const int high = digit(spelling[3]), low = digit(spelling[4]);
    return high < 0 || low < 0 ? -1 : 16 * high + low;
}

std::string spelling_of_byte(unsigned char byte) {
    static constexpr char digits[] = "0123456789ABCDEF";
    return {'<', '0', 'x', digits[byte >> 4], digits[byte & 15], '>'};
}

} // namespace ordo
