// SPDX-License-Identifier: MIT
// The pre-tokenizers of a tokenizer.json: what cuts a normalised text into the pieces that tokens never cross. Each
// does what Hugging Face's of the same name does. Text may hold any bytes: each longest run of those that are not
// UTF-8 is a piece of its own to a pattern, and the text on its two sides is cut as if it stood alone.
#pragma once

#include "io/json.h"
#include "text/allowance.h"

#include <functional>

namespace ordo {

struct Piece {
    std::string_view text; // lives as long as the call that it is handed to
    bool first;            // it begins where the whole text does
};
using PieceSink = std::function<void(const Piece&)>;
using PreTokenizer = std::function<void(const Piece&, Allowance&, const PieceSink&)>; // hands on no empty piece

// Of the member of that name, null or a component; an empty one cuts nothing. byte_level: whether the pieces are what
// the model gets as bytes,
// for a ByteLevel that stands last; any other one spells them in GPT-2's alphabet (byte_alphabet.h). Throws
// Error(model) naming a component that is not known.
PreTokenizer make_pre_tokenizer(const JsonValue& component, const std::string& where, bool& byte_level);

// GPT-2's own pattern, which is ByteLevel's:
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// Its pieces follow one another without gaps.
void cut_gpt2(std::string_view text, const std::function<void(std::string_view)>& on_piece);

} // namespace ordo
