// SPDX-License-Identifier: MIT
// Masked tokens (Devlin et al. 2018, section 3.1) and vectors of texts (Reimers and Gurevych 2019, arXiv 1908.10084, section 3).
#pragma once

#include "model/model.h"

namespace ordo {

struct Candidate {
    Token token = -1;
    float probability = 0; // of all tokens of the vocabulary
};
// A masked token of a text, and what the model would put there, the likeliest first; ties go to the lowest id.
struct Blank {
    int index = 0; // in the text's tokens
    std::vector<Candidate> best;
};
struct FilledText {
    std::vector<Token> tokens; // with what the tokenizer puts around a text; [MASK] where there is a blank
    std::vector<Blank> blanks;
};
// Predicts each mask token of a text, in which special tokens may be written: "The [MASK] sat." Throws Error(usage) for a
// model that is not bidirectional, or a text without a mask token, Error(limit) for one that is too long, Error(model)
// without a tokenizer, or one that knows no mask token.
FilledText fill(const Model& model, std::string_view text, int candidates = 5);

enum class Pooling { mean, first, last }; // of the states of a text's tokens: [CLS] is the first

struct EmbedOptions {
    Pooling pooling = Pooling::mean;
    bool normalised = true; // to a length of 1
};
// A vector [d_model] for a text: the states of its tokens that the head reads, or what an encoder makes of them, pooled.
// The tokens are what the tokenizer puts around the text, too. Throws Error(usage) for a text without tokens,
// Error(limit) for one that is too long, Error(model) without a tokenizer.
std::vector<float> embed(const Model& model, std::string_view text, const EmbedOptions& options = {});

} // namespace ordo
