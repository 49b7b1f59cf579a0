// SPDX-License-Identifier: MIT
// Tokenizers of directories without a tokenizer.json: the vocabulary and the merges of GPT-2, in a file each; Marian's
// vocabulary beside SentencePiece's model of the language that it reads; and SentencePiece's model alone.
#pragma once

#include "io/json.h"
#include "text/tokenizer.h"

#include <filesystem>

namespace ordo {

// Whether vocab.json and merges.txt are there and their text is cut as GPT-2's is, as the tokenizer's class says, or,
// where the configuration names none, the type of the model.
bool has_gpt2_files(const std::filesystem::path& directory, const JsonValue& tokenizer_config,
                    std::string_view model_type);

// The tokenizer that they make. Special tokens are those that the two other files name. Throws Error.
std::unique_ptr<Tokenizer> tokenizer_from_gpt2_files(const std::filesystem::path& directory,
                                                     const JsonValue& tokenizer_config,
                                                     const JsonValue& special_tokens_map);

// Whether a Marian model's vocab.json and source.spm are there.
bool has_marian_files(const std::filesystem::path& directory, std::string_view model_type);
// The tokenizer that they make: source.spm cuts a text, vocab.json has the ids. A piece that vocab.json lacks is not
// taken. Throws Error.
std::unique_ptr<Tokenizer> tokenizer_from_marian_files(const std::filesystem::path& directory);

// Whether SentencePiece's own file, tokenizer.model or spiece.model, is there, and the tokenizer's class, or where the
// configuration names none the type of the model, is one that takes its pieces for ids: Llama's, Gemma's or T5's.
bool has_sentence_piece_file(const std::filesystem::path& directory, const JsonValue& tokenizer_config,
                             std::string_view model_type);
// The tokenizer that it makes, with the tokens that added_tokens.json and the configuration add. Throws Error.
std::unique_ptr<Tokenizer> tokenizer_from_sentence_piece_file(const std::filesystem::path& directory,
                                                              const JsonValue& tokenizer_config,
                                                              std::string_view model_type);

// The files of a tokenizer that nothing here reads: "tokenizer.model". Empty: there are none.
std::string unread_tokenizer_files(const std::filesystem::path& directory);

} // namespace ordo
