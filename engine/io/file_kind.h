// SPDX-License-Identifier: MIT
// Recognises a file of an unexpected format by its first bytes.
#pragma once

#include <string>
#include <string_view>

namespace ordo {

// The number of bytes that are examined.
inline constexpr std::size_t file_kind_bytes = 64;

struct FileKind {
    std::string_view magic;    // the first bytes of its files
    std::string_view name;     // "a GGUF file"
    std::string_view advice{}; // advice to the user, or empty
    bool like_a_text = false;  // a text may begin like this too, but has no NUL after it
    std::string text() const;  // name and advice
};

// The kind of a binary file that users may mistake for weights or for text. Null for an unknown file and for a
// safetensors file.
const FileKind* binary_kind(std::string_view start);

bool like_safetensors(std::string_view start);

// "JSON", "a text" in UTF-8, or empty if it is neither. whole: the start is the whole file.
std::string_view text_kind(std::string_view start, bool whole);

} // namespace ordo
