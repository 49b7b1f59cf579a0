// SPDX-License-Identifier: MIT
// A text as documents, for training or measuring a model.
#pragma once

#include "model/model_access.h"

namespace ordo::tools {

inline constexpr std::size_t most_text = std::size_t{256} << 20; // bytes

struct Document {
    std::vector<Token> tokens;
    std::vector<std::uint16_t> bytes; // of each token, at most 65535
};

std::string_view without_outer_newlines(std::string_view text);
// The documents between <|endoftext|>, without the newlines at their ends. Empty documents are dropped.
std::vector<std::string_view> split_documents(std::string_view text);

// Each document as tokens, after the model's begin-of-text token, if it has one. Throws Error(usage), naming the text,
// if no document has two tokens.
std::vector<Document> read_documents(std::string_view text, const Model& model, std::string_view name);

// Only the tokens of the documents.
std::vector<std::vector<Token>> tokens_of(std::vector<Document> documents);

// Whether a model learned from this text, by the digests in its record. False for a text from a pipe.
bool learned_from(const Metadata& record, const std::filesystem::path& text);

} // namespace ordo::tools
