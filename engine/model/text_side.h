// SPDX-License-Identifier: MIT
// The link between text and a model: its tokenizer, and the special tokens of its files.
#pragma once

#include "ordo.h"
#include "text/tokenizer.h"

#include <algorithm>
#include <optional>

namespace ordo {

// -1: there is none.
struct SpecialTokens {
    Token start = -1;       // put before a prompt, as documents begin in training
    Token forced = -1;      // which a decoder beside an encoder writes first, whatever its logits
    std::vector<Token> end; // each of them ends a text
    Token padding = -1, unknown = -1;
    Token first = -1, separator = -1, mask = -1; // BERT's [CLS], [SEP], [MASK]

    bool ends_text(Token token) const { return std::find(end.begin(), end.end(), token) != end.end(); }
};

struct TextSide {
    TextSide() = default;
    TextSide(std::nullptr_t) {} // NOLINT: no tokenizer
    // As in Ordo's own weights: the token <|endoftext|>, if there is one, begins and ends a text.
    TextSide(std::unique_ptr<const Tokenizer> own) : tokenizer(std::move(own)) { // NOLINT: likewise
        if (!tokenizer || tokenizer->end_of_text() < 0) return;
        special.start = tokenizer->end_of_text();
        special.end = {tokenizer->end_of_text()};
    }
    template <class T>
    TextSide(std::unique_ptr<T> own) : TextSide(std::unique_ptr<const Tokenizer>(std::move(own))) {} // NOLINT

    std::unique_ptr<const Tokenizer> tokenizer; // null without one
    bool padded_vocabulary = false;             // the model may have more ids than the tokenizer
    SpecialTokens special;
    std::optional<Sampling> sampling; // recommended by the model's files
};

} // namespace ordo
