// SPDX-License-Identifier: MIT
// Keys of a tokenizer.json that its components do not have: those of other types, or of a program that came later.
// Hugging Face's library ignores them, and so does this one.
#pragma once

#include "io/json.h"

#include <string>
#include <vector>

namespace ordo {

// A line for each component that has such keys, but at most max_foreign_lines: "post_processor: TemplateProcessing has
// no 'use_regex', which is ignored". rest: TokenizerFile::rest.
inline constexpr std::size_t max_foreign_lines = 16;
std::vector<std::string> foreign_keys(const JsonValue& rest);

} // namespace ordo
