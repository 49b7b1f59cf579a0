// SPDX-License-Identifier: MIT
// The tokens of a text that becomes a vector.
#pragma once

#include "model/model_access.h"
#include "ordo.h"

#include <string_view>
#include <vector>

namespace ordo {

struct EmbedText {
    std::vector<Token> tokens; // in the tokenizer's frame
    std::vector<int> segments;
    int left_out = 0; // tokens that a limit cut from the end of the text
    int unpooled = 0; // tokens at the beginning that a mean leaves out
};
// Puts the default prompt of the model's files before a text. Cuts the text to the tokens that these files or the
// positions of the model allow, the frame included. Throws Error(model) without a tokenizer.
EmbedText embed_text(const Model& model, std::string_view text);

// embed() for such tokens.
std::vector<float> embed(const Model& model, const EmbedText& text, const EmbedOptions& options);

} // namespace ordo
