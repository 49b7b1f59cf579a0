// SPDX-License-Identifier: MIT
// The post-processors of a tokenizer.json: what is put around a text.
#pragma once

#include "io/json.h"
#include "text/tokenizer.h"

namespace ordo {

// Of the member of that name, null or a component; of a tokenizer with so many tokens. Throws Error(model).
Frame make_frame(const JsonValue& component, std::size_t vocab_size, const std::string& where);

} // namespace ordo
