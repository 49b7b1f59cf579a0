// SPDX-License-Identifier: MIT
// The decoders of a tokenizer.json, which turn a token's spelling into text. Each works like Hugging Face's decoder of
// that name, a token at a time, as the text is streamed. A decoder that needs later tokens is refused by name. A token
// for a byte gives that byte, where that library writes U+FFFD for bytes that are not UTF-8.
#pragma once

#include "io/json.h"
#include "text/allowance.h"

#include <functional>

namespace ordo {

// Turns the spelling of a token into its text; first: it is the first token. The allowance is for all tokens together:
// Error(limit).
using Decoder = std::function<void(std::string& token, bool first, Allowance& allowance)>;

// Makes a decoder from that member: null (spaces between the tokens) or a component. Throws Error(model).
Decoder make_decoder(const JsonValue& component, const std::string& where);

// Whether it reads spellings in GPT-2's byte alphabet: ByteLevel, alone or in a Sequence.
bool decodes_bytes(const JsonValue& component, const std::string& where);

} // namespace ordo
