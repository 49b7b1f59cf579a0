// SPDX-License-Identifier: MIT
// The character map to which SentencePiece compiles its normalisation rules. It is a double array (Aoe 1989) of u32
// units in the layout of darts-clone. It maps the bytes of a text to an offset in a list of replacements that end with
// a zero byte. File: u32 bytes of the array, the array, the list; little-endian.
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

    struct Match {
        std::size_t length; // bytes of the text
        std::string_view replacement;
    };
    // The shortest prefix of a text that has a replacement, or the longest.
    std::optional<Match> find(std::string_view text, MapMatch which) const {
        std::optional<Match> found;
        std::size_t at = 0;
        std::uint32_t unit = 0;
        const auto follow = [&] { at ^= std::size_t{unit >> 10} << ((unit & (1u << 9)) >> 6); };
        if (!read(at, unit)) return found;
        follow();
        for (std::size_t i = 0; i < text.size() && i < longest_key; ++i) {
            const auto byte = static_cast<unsigned char>(text[i]);
            at ^= byte;
            if (byte == 0 || !read(at, unit) || (unit & (1u << 31 | 0xffu)) != byte) break;
            follow();
            if ((unit >> 8 & 1) == 0) continue;
            std::uint32_t leaf = 0;
            if (const auto with = read(at, leaf) ? replacement(leaf & ~(1u << 31)) : std::nullopt)
                found = {i + 1, *with};
            if (which == MapMatch::shortest) break;
        }
        return found;
    }

private:
    // In bytes, far above the decomposition of one character. It stops a map that contains a cycle.
    static constexpr std::size_t longest_key = 64;

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

// As in SentencePiece: from left to right, the longest prefix with a replacement.
void replace_longest(const CharacterMap& map, std::string& text, const Allowance& allowance) {
    std::string out;
    out.reserve(text.size());
    for (std::string_view rest = text; !rest.empty();) {
        const std::size_t one = unicode::first_char(rest).length;
        const auto found = map.find(rest, MapMatch::longest).value_or(CharacterMap::Match{one, rest.substr(0, one)});
        allowance.check_growth(text.size(), out.size() + found.replacement.size());
        out += found.replacement;
        rest.remove_prefix(found.length);
    }
    text = std::move(out);
}

// As in the library with which the models' tokenizers were converted. A short cluster becomes the replacement of its
// shortest prefix that has one. In other clusters, each character is replaced by itself.
void replace_clusters(const CharacterMap& map, std::string& text, const Allowance& allowance) {
    constexpr std::size_t longest_chunk = 5; // in bytes, of a cluster that is looked up whole
    std::string out;
    out.reserve(text.size());
    for (std::string_view rest = text; !rest.empty();) {
        std::string_view cluster = rest.substr(0, unicode::grapheme_length(rest));
        rest.remove_prefix(cluster.size());
        if (cluster.size() <= longest_chunk)
            if (const auto found = map.find(cluster, MapMatch::shortest)) {
                allowance.check_growth(text.size(), out.size() + found->replacement.size());
                out += found->replacement;
                continue;
            }
        while (!cluster.empty()) {
            const std::string_view part = cluster.substr(0, unicode::first_char(cluster).length);
            const std::string_view put =
                map.find(part, MapMatch::shortest).value_or(CharacterMap::Match{0, part}).replacement;
            allowance.check_growth(text.size(), out.size() + put.size());
            out += put;
            cluster.remove_prefix(part.size());
        }
    }
    text = std::move(out);
}

} // namespace

Normalizer make_precompiled(std::string map, const std::string& where, MapMatch which) {
    if (map.empty()) return {};
    const auto shared = std::make_shared<const CharacterMap>(std::move(map), where);
    return [shared, which](std::string& text, Allowance& allowance) {
        which == MapMatch::longest ? replace_longest(*shared, text, allowance)
                                   : replace_clusters(*shared, text, allowance);
    };
}

} // namespace ordo
