// SPDX-License-Identifier: MIT
// A tokenizer put together from the components of its file.
#pragma once

#include "text/added_tokens.h"
#include "text/decoder.h"
#include "text/post_processor.h"
#include "text/pre_tokenizer.h"
#include "text/token_model.h"
#include "text/tokenizer.h"

namespace ordo {

struct Pipeline {
    TokenizerFile file; // as it was read, but the spellings, which the vocabulary has
    std::unique_ptr<const Vocabulary> vocabulary;
    AddedTokens added;
    Normalizer normalize;
    PreTokenizer cut;
    std::unique_ptr<const TokenModel> model;
    Decoder decode;
    bool decodes_bytes = false;
    Frame frame;
    int n_tokens = 0; // of the vocabulary and those added
    std::vector<std::string> ignored;
};

// where names the decoder in errors: Error(limit) if it makes too much of the tokens.
std::unique_ptr<Tokenizer> make_tokenizer(Pipeline pipeline, const std::string& where);

// A file that has been taken apart, checked and put together; where names it in errors. Throws Error(model).
std::unique_ptr<Tokenizer> make_tokenizer(TokenizerFile file, std::string_view where);

// The file that a pipeline was made of, as text.
std::string write_tokenizer(const Pipeline& pipeline);

} // namespace ordo
