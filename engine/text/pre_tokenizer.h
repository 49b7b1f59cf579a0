// SPDX-License-Identifier: MIT
// The pre-tokenizers of a tokenizer.json, which split a normalised text into pieces that tokens never cross. Each works
// like Hugging Face's of that name. Text may contain any bytes. For a pattern, each longest run of bytes that are not
// UTF-8 is a piece of its own, and the text on either side is split separately.
#pragma once

#include "io/json.h"
#include "text/allowance.h"

#include <functional>

namespace ordo {

struct Piece {
    std::string_view text; // lives as long as the call that receives it
    bool first;            // it begins at the start of the whole text
};
using PieceSink = std::function<void(const Piece&)>;
using PreTokenizer = std::function<void(const Piece&, Allowance&, const PieceSink&)>; // passes on non-empty pieces only

// Makes a pre-tokenizer from that member, null or a component; an empty one splits nothing. byte_level, if given:
// whether the model gets the pieces as bytes, for a ByteLevel in the last place. Any other ByteLevel spells them in
// GPT-2's alphabet (byte_alphabet.h). Throws Error(model) with the name of an unknown component.
PreTokenizer make_pre_tokenizer(const JsonValue& component, const std::string& where, bool* byte_level);

// GPT-2's pattern, which ByteLevel also uses:
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// Its pieces have no gaps between them.
void cut_gpt2(std::string_view text, const std::function<void(std::string_view)>& on_piece);

} // namespace ordo
