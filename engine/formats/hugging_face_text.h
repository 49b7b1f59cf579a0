// SPDX-License-Identifier: MIT
// The text side of a directory in the form of Hugging Face's transformers.
#pragma once

#include "formats/source.h"

namespace ordo {

// Sets the text side of a source, or adds a warning if it cannot be read.
void add_hugging_face_text(Source& source, const std::filesystem::path& directory, const std::string& model_type);

// A tokenizer with the special tokens and the sampling settings of a directory's files. Without a tokenizer, the
// special tokens are the ids in the files. Ids from vocab_size on are dropped. Throws Error.
TextSide hugging_face_text(const std::filesystem::path& directory, int vocab_size,
                           std::unique_ptr<const Tokenizer> tokenizer);

} // namespace ordo
