// SPDX-License-Identifier: MIT
// GPT-2's alphabet for bytes: one visible character for each, so that a vocabulary of byte strings can be written as
// text. The printable bytes of Latin-1 (33..126, 161..172, 174..255) represent themselves. The other 68, in order,
// become U+0100 and up: a space is U+0120.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ordo {

// Converts bytes to UTF-8 in the alphabet.
std::string spell_bytes(std::string_view bytes);

// The inverse; empty if text has a character outside the alphabet.
std::optional<std::string> unspell_bytes(std::string_view text);

} // namespace ordo
