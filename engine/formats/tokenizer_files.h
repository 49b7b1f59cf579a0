// SPDX-License-Identifier: MIT
// Tokenizers of directories without a tokenizer.json: the vocabularies of GPT-2, RoBERTa and BERT in text files;
// Marian's vocabulary with SentencePiece's model of the source language; and SentencePiece's model alone.
#pragma once

#include "io/json.h"
#include "text/tokenizer.h"

#include <filesystem>

namespace ordo {

// The forms of a vocabulary in text files: vocab.json and merges.txt as GPT-2 has them, or with RoBERTa's frame and
// special tokens; and BERT's vocab.txt.
enum class VocabularyForm { none, gpt2, roberta, bert };
// The form of the files that exist, if the tokenizer's class has one: that of tokenizer_config.json, else that of
// config.json, else the usual one of the model's type.
VocabularyForm vocabulary_form(const std::filesystem::path& directory, const JsonValue& tokenizer_config,
                               std::string_view model_type);
// The tokenizer from these files, with the special tokens of the directory's other files. Throws Error.
std::unique_ptr<Tokenizer> tokenizer_from_vocabulary(VocabularyForm form, const std::filesystem::path& directory,
                                                     const JsonValue& tokenizer_config);

// Whether a Marian model's vocab.json and source.spm exist.
bool has_marian_files(const std::filesystem::path& directory, std::string_view model_type);
// The tokenizer from these files: source.spm splits a text, vocab.json has the ids. A piece without an id is never
// used. Throws Error.
std::unique_ptr<Tokenizer> tokenizer_from_marian_files(const std::filesystem::path& directory);

// Whether SentencePiece's own file, tokenizer.model or spiece.model, exists and its pieces are the ids: for the classes
// of Llama, Gemma and T5. Without a class in the configuration, the type of the model decides.
bool has_sentence_piece_file(const std::filesystem::path& directory, const JsonValue& tokenizer_config,
                             std::string_view model_type);
// The tokenizer from this file, with the tokens that added_tokens.json and the configuration add. Throws Error.
std::unique_ptr<Tokenizer> tokenizer_from_sentence_piece_file(const std::filesystem::path& directory,
                                                              const JsonValue& tokenizer_config,
                                                              std::string_view model_type);

// The tokenizer files that Ordo cannot read: "tokenizer.model". Empty if there are none.
std::string unread_tokenizer_files(const std::filesystem::path& directory);

} // namespace ordo
