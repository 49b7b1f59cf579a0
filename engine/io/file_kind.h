// SPDX-License-Identifier: MIT
// What a file that was taken for another one is, by its first bytes.
#pragma once

#include <string>
#include <string_view>

namespace ordo {

// As many of them as are looked at.
inline constexpr std::size_t file_kind_bytes = 64;

struct FileKind {
    std::string_view magic;    // what its files begin with
    std::string_view name;     // "a GGUF file"
    std::string_view advice{}; // what to do about it, if anything
    bool like_a_text = false;  // a text may begin so too, but has no NUL behind it
    std::string text() const;  // both
};

// That of files which are not plain text, if it is one that people hold for weights or for text; null: unknown, or a
// safetensors file.
const FileKind* binary_kind(std::string_view start);

bool like_safetensors(std::string_view start);

// "JSON", "a text" in UTF-8, or nothing if it is neither. whole: there is no more of the file than its start.
std::string_view text_kind(std::string_view start, bool whole);

} // namespace ordo
