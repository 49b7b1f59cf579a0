// SPDX-License-Identifier: MIT
// The post-processors of a tokenizer.json, which add tokens around a text.
#pragma once

#include "io/json.h"
#include "text/tokenizer.h"

namespace ordo {

// Makes a frame from that member, null or a component, for a tokenizer with `vocab_size` tokens. Throws Error(model).
Frame make_frame(const JsonValue& component, std::size_t vocab_size, const std::string& where);

} // namespace ordo
