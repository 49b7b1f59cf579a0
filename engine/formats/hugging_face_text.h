// SPDX-License-Identifier: MIT
// The text side of a directory as Hugging Face's transformers writes it.
#pragma once

#include "formats/source.h"

namespace ordo {

// The text side of a source, or a warning of what would be one.
void add_hugging_face_text(Source& source, const std::filesystem::path& directory, const std::string& model_type);

// A tokenizer with the special tokens and the sampling that the files of a directory name. Without a tokenizer the
// special tokens are those that the files name by their ids. Ids from vocab_size on are none. Throws Error.
TextSide hugging_face_text(const std::filesystem::path& directory, int vocab_size,
                           std::unique_ptr<const Tokenizer> tokenizer);

} // namespace ordo
