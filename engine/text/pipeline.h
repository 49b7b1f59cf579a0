// SPDX-License-Identifier: MIT
// A tokenizer built from the components of its file.
#pragma once

#include "text/added_tokens.h"
#include "text/decoder.h"
#include "text/post_processor.h"
#include "text/pre_tokenizer.h"
#include "text/token_model.h"
#include "text/tokenizer.h"

namespace ordo {

struct Pipeline {
    TokenizerFile file; // without the spellings, which the vocabulary has
    std::unique_ptr<const Vocabulary> vocabulary;
    AddedTokens added;
    Normalizer normalize;
    PreTokenizer cut;
    std::unique_ptr<const TokenModel> model;
    Decoder decode;
    bool decodes_bytes = false;
    Frame frame;
    int n_tokens = 0; // of the vocabulary and the added tokens
    std::vector<std::string> ignored;
};

// where names the decoder in errors: Error(limit) if it makes the tokens too long.
std::unique_ptr<Tokenizer> make_tokenizer(Pipeline pipeline, const std::string& where);

// Checks the parts of a file and builds the tokenizer; where names it in errors. Throws Error(model).
std::unique_ptr<Tokenizer> make_tokenizer(TokenizerFile file, std::string_view where);

// Writes the pipeline as its file.
std::string write_tokenizer(const Pipeline& pipeline);

} // namespace ordo
