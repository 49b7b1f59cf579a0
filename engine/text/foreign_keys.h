// SPDX-License-Identifier: MIT
// Unknown keys in the components of a tokenizer.json, from other types or from later programs. They are ignored, as in
// Hugging Face's library.
#pragma once

#include "io/json.h"

#include <string>
#include <vector>

namespace ordo {

// A line for each component with such keys, at most max_foreign_lines: "post_processor: TemplateProcessing has no
// 'use_regex', which is ignored". rest: TokenizerFile::rest.
inline constexpr std::size_t max_foreign_lines = 16;
std::vector<std::string> foreign_keys(const JsonValue& rest);

} // namespace ordo
