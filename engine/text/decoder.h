// SPDX-License-Identifier: MIT
// The decoders of a tokenizer.json: what a token's spelling reads as. Each does what Hugging Face's of the same name
// does, a token at a time, since text is handed on as it comes; what would need the tokens after it is refused by
// name. One that stands for a byte gives that byte, where that library writes U+FFFD for bytes that are not UTF-8.
#pragma once

#include "io/json.h"
#include "text/allowance.h"

#include <functional>

namespace ordo {

// Turns the spelling of a token into its text; first: no token stands before it. The allowance is for all tokens
// together: Error(limit).
using Decoder = std::function<void(std::string& token, bool first, Allowance& allowance)>;

// Of the member of that name, null (spaces between the tokens) or a component. Throws Error(model).
Decoder make_decoder(const JsonValue& component, const std::string& where);

// Whether it takes spellings for bytes in GPT-2's alphabet: ByteLevel, alone or in a Sequence.
bool decodes_bytes(const JsonValue& component, const std::string& where);

} // namespace ordo
