// SPDX-License-Identifier: MIT
// A text as documents, to train a model or to measure it on.
#pragma once

#include "ordo.h"

namespace ordo::tools {

inline constexpr std::size_t most_text = std::size_t{256} << 20; // bytes

struct Document {
    std::vector<Token> tokens;
    std::vector<int> bytes; // of each token
};

std::string_view without_outer_newlines(std::string_view text);
// The documents between <|endoftext|>, without the newlines at their ends; empty ones are none.
std::vector<std::string_view> split_documents(std::string_view text);

// Each document as what begins a text of the model, if anything, and its tokens. Throws Error(usage), naming the text,
// if none has two tokens.
std::vector<Document> read_documents(std::string_view text, const Model& model, std::string_view name);

// Their tokens alone.
std::vector<std::vector<Token>> tokens_of(std::vector<Document> documents);

} // namespace ordo::tools
