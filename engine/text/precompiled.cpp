// SPDX-License-Identifier: MIT
// The character map that SentencePiece compiles its normalisation rules to: a double array (Aoe 1989) of u32 units
// as darts-clone lays them out, which takes the bytes of a text to an offset in a list of replacements that end
// with a zero byte. File: u32 bytes of the array, the array, the list; little-endian.
#include "core/error.h"
#include "core/utf8.h"
#include "text/normalizer.h"
#include "text/unicode.h"

#include <algorithm>
#include <memory>
#include <optional>

namespace ordo {
namespace {

class CharacterMap {
public:
    CharacterMap(std::string map, const std::string& where) : map_(std::move(map)) {
        const std::size_t bytes = map_.size() < 4 ? 0 : word(0);
        if (map_.size() < 4 || bytes % 4 != 0 || bytes < 4 || bytes > map_.size() - 4)
            fail(ErrorCode::model, where, ": expected an array of units and its replacements, found ", map_.size(),
                 " bytes, of which the array takes ", bytes);
        n_units_ = bytes / 4;
    }

    // What stands in the place of a chunk: that of the shortest of its beginnings which has one. So it is in the
    // library that the models' tokenizers were converted with, where SentencePiece itself takes the longest.
    std::optional<std::string_view> find(std::string_view chunk) const {
        std::size_t at = 0;
        std::uint32_t unit = 0;
        const auto follow = [&] { at ^= std::size_t{unit >> 10} << ((unit & (1u << 9)) >> 6); };
        if (!read(at, unit)) return {};
        follow();
        for (const char c : chunk) {
            const auto byte = static_cast<unsigned char>(c);
            if (byte == 0) break;
            at ^= byte;
            if (!read(at, unit) || (unit & (1u << 31 | 0xffu)) != byte) return {};
            follow();
            if ((unit >> 8 & 1) == 0) continue;
            std::uint32_t leaf = 0;
            return read(at, leaf) ? replacement(leaf & ~(1u << 31)) : std::nullopt;
        }
        return {};
    }

private:
    std::uint32_t word(std::size_t at) const {
        std::uint32_t value = 0;
        for (std::size_t i = 0; i < 4; ++i) value |= std::uint32_t{static_cast<unsigned char>(map_[at + i])} << 8 * i;
        return value;
    }
    bool read(std::size_t i, std::uint32_t& unit) const {
        if (i >= n_units_) return false;
        unit = word(4 + 4 * i);
        return true;
    }
    std::optional<std::string_view> replacement(std::size_t offset) const {
        const std::string_view list = std::string_view(map_).substr(4 + 4 * n_units_);
        if (offset >= list.size()) return {};
        return list.substr(offset, list.find('\0', offset) - offset);
    }

    std::string map_;
    std::size_t n_units_ = 0;
};

void apply(const CharacterMap& map, std::string& text, const Allowance& allowance) {
    constexpr std::size_t longest_chunk = 5; // in bytes, of a cluster that is looked up as a whole
    std::string out;
    out.reserve(text.size());
    for (std::string_view rest = text; !rest.empty();) {
        std::string_view cluster = rest.substr(0, unicode::grapheme_length(rest));
        rest.remove_prefix(cluster.size());
        if (cluster.size() <= longest_chunk)
            if (const auto found = map.find(cluster)) {
                allowance.check_growth(text.size(), out.size() + found->size());
                out += *found;
                continue;
            }
        while (!cluster.empty()) {
            const std::string_view part = cluster.substr(0, unicode::first_char(cluster).length);
            const std::string_view put = map.find(part).value_or(part);
            allowance.check_growth(text.size(), out.size() + put.size());
            out += put;
            cluster.remove_prefix(part.size());
        }
    }
    text = std::move(out);
}

} // namespace

Normalizer make_precompiled(std::string map, const std::string& where) {
    if (map.empty()) return {};
    const auto shared = std::make_shared<const CharacterMap>(std::move(map), where);
    return [shared](std::string& text, Allowance& allowance) { apply(*shared, text, allowance); };
}

} // namespace ordo
