// SPDX-License-Identifier: MIT
// The normalizers of a tokenizer.json: what changes a text before it is cut. Each does what Hugging Face's of the
// same name does; bytes that are not UTF-8 pass unchanged, unless the normalizer drops or replaces U+FFFD.
#pragma once

#include "io/json.h"
#include "text/allowance.h"

#include <functional>

namespace ordo {

// An empty one changes nothing. The allowance is asked before the text grows: Error(limit).
using Normalizer = std::function<void(std::string& text, Allowance& allowance)>;

// Of the member of that name, null or a component. Throws Error(model) naming a component that is not known.
Normalizer make_normalizer(const JsonValue& component, const std::string& where);

// Which entry of a character map a text is changed by: SentencePiece takes the longest that the text begins with,
// Hugging Face's library the shortest.
enum class MapMatch { shortest, longest };
// The character map of a SentencePiece model (precompiled_charsmap, not in base 64). Throws Error(model).
Normalizer make_precompiled(std::string map, const std::string& where, MapMatch which = MapMatch::shortest);

std::string to_base64(std::string_view bytes);
std::string from_base64(std::string_view text, const std::string& where); // throws Error(model)

// Puts content in the place of what a component's member "pattern" matches: {"String": text} or {"Regex": pattern}.
// A decoder has such a component too.
Normalizer make_replace(const JsonValue& component, const std::string& where);

// The pattern of such a member, in PCRE2's syntax.
std::string pattern_of(const JsonValue& component, const std::string& where);

// What a component calls itself.
const std::string& type_of(const JsonValue& component, const std::string& where);
// A component in its order, with its own name for errors.
struct Component {
    const JsonValue& value;
    std::string where;
};
// A component, or the members of a Sequence, which stand in its member `key`, and of the Sequences in it. Null does
// nothing and is left out. Throws Error(model) for more than max_components.
inline constexpr std::size_t max_components = 64;
std::vector<Component> components_of(const JsonValue& component, std::string_view key, const std::string& where);
bool get_bool_or(const JsonValue& object, std::string_view key, const std::string& where, bool otherwise);
bool is_null(const JsonValue& object, std::string_view key); // or absent

} // namespace ordo
