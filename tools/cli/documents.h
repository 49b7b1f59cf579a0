// SPDX-License-Identifier: MIT
// A text as documents, to measure a model on.
#pragma once

#include "ordo.h"

namespace ordo::tools {

inline constexpr std::size_t most_text = std::size_t{256} << 20; // bytes

struct Document {
    std::vector<Token> tokens;
    std::vector<int> bytes; // of each token
};

// Splits at <|endoftext|>, blank lines at the ends of a document apart; each becomes <|endoftext|> (if the
// tokenizer has it) and its tokens. Throws Error(usage), naming the text, if none has two tokens.
std::vector<Document> read_documents(std::string_view text, const Model& model, std::string_view name);

// Their tokens alone.
std::vector<std::vector<Token>> tokens_of(std::vector<Document> documents);

} // namespace ordo::tools
