// SPDX-License-Identifier: MIT
// The normalizers of a tokenizer.json, which change a text before it is split. Each works like Hugging Face's of that
// name. Bytes that are not UTF-8 pass unchanged, unless the normalizer drops or replaces U+FFFD.
#pragma once

#include "io/json.h"
#include "text/allowance.h"

#include <functional>

namespace ordo {

// An empty Normalizer changes nothing. It checks the allowance before the text grows: Error(limit).
using Normalizer = std::function<void(std::string& text, Allowance& allowance)>;

// Makes a normalizer from that member, null or a component. Throws Error(model) with the name of an unknown component.
Normalizer make_normalizer(const JsonValue& component, const std::string& where);

// The entry of a character map that is applied to a text: SentencePiece uses the longest match, Hugging Face's library
// the shortest.
enum class MapMatch { shortest, longest };
// The character map of a SentencePiece model (precompiled_charsmap, not in base 64). Throws Error(model).
Normalizer make_precompiled(std::string map, const std::string& where, MapMatch which = MapMatch::shortest);

// Replaces each occurrence of `from` by `to`, from left to right. `from` must not be empty.
void replace_all(std::string& text, std::string_view from, std::string_view to, const Allowance& allowance);

std::string to_base64(std::string_view bytes);
std::string from_base64(std::string_view text, const std::string& where); // throws Error(model)

// Replaces the matches of a component's member "pattern" with content: {"String": text} or {"Regex": pattern}. Decoders
// use it too.
Normalizer make_replace(const JsonValue& component, const std::string& where);

// The pattern of that member, in PCRE2's syntax.
std::string pattern_of(const JsonValue& component, const std::string& where);

// The type of a component.
const std::string& type_of(const JsonValue& component, const std::string& where);
// A component of a list, with its name for errors.
struct Component {
    const JsonValue& value;
    std::string where;
};
// Lists a component, or the members of a Sequence, from its member `key`, and of the Sequences in it. Null is skipped.
// Throws Error(model) for more than max_components.
inline constexpr std::size_t max_components = 512;
std::vector<Component> components_of(const JsonValue& component, std::string_view key, const std::string& where);
bool get_bool_or(const JsonValue& object, std::string_view key, const std::string& where, bool otherwise);
bool is_null(const JsonValue& object, std::string_view key); // or absent

} // namespace ordo
