// SPDX-License-Identifier: MIT
// The normalizers of a tokenizer.json: what changes a text before it is cut. Each does what Hugging Face's of the
// same name does; bytes that are not UTF-8 pass unchanged, unless the normalizer drops or replaces U+FFFD.
#pragma once

#include "io/json.h"

#include <functional>

namespace ordo {

// An empty one changes nothing. Throws Error(limit) once the text would have more than so many bytes.
using Normalizer = std::function<void(std::string& text, std::size_t most)>;

// What a text of that size may become: NFKC makes 11 times as much of one character, no real tokenizer much more of a
// whole text, and a hostile file's would fill the memory.
inline std::size_t most_normalized(std::size_t size) {
    return 32 * size + (std::size_t{1} << 16);
}
void check_normalized(std::size_t size, std::size_t most);

// Of the member of that name, null or a component. Throws Error(model) naming a component that is not known.
Normalizer make_normalizer(const JsonValue& component, const std::string& where);

// The character map of a SentencePiece model (precompiled_charsmap, not in base 64). Throws Error(model).
Normalizer make_precompiled(std::string map, const std::string& where);

std::string to_base64(std::string_view bytes);
std::string from_base64(std::string_view text, const std::string& where); // throws Error(model)

// Puts content in the place of what a component's member "pattern" matches: {"String": text} or {"Regex": pattern}.
// A decoder has such a component too.
Normalizer make_replace(const JsonValue& component, const std::string& where);

// The pattern of such a member, in PCRE2's syntax.
std::string pattern_of(const JsonValue& component, const std::string& where);

// What a component calls itself.
const std::string& type_of(const JsonValue& component, const std::string& where);
// The members of a Sequence, each with its own name for errors.
void for_each_member(const JsonValue& sequence, std::string_view key, const std::string& where,
                     const std::function<void(const JsonValue&, const std::string&)>& use);
bool get_bool_or(const JsonValue& object, std::string_view key, const std::string& where, bool otherwise);
bool is_null(const JsonValue& object, std::string_view key); // or absent

} // namespace ordo
