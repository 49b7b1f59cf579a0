// SPDX-License-Identifier: MIT
// Any model as a GGUF that llama.cpp runs.
#pragma once

#include "formats/gguf/file.h"
#include "formats/source.h"

namespace ordo {

// A file that can be written: write_gguf(path, metadata, tensors). Tensors are made when their turn comes, from the
// source, which must outlive it.
struct GgufExport {
    std::string architecture;
    GgufEntries metadata;
    std::vector<GgufStored> tensors;
};

// type: of the matrices; none: as they are stored. Vectors are f32; beside blocks the rules of type_within() hold.
// Throws Error(usage) for what GGUF cannot say, by name and with what would work.
GgufExport gguf_export(const Source& source, std::optional<WeightType> type);
GgufExport gguf_export(Source&&, std::optional<WeightType>) = delete;

// The tokenizer of a model as GGUF's arrays, tokenizer.ggml.*. vocab_size: of the model, which may have ids that no
// text has. Throws Error(usage) for a tokenizer that llama.cpp has not.
GgufEntries gguf_entries(const TextSide& text, int vocab_size, const std::string& where);
// The tokenizer of a file that may hold nothing else. Throws Error(model).
std::unique_ptr<Tokenizer> gguf_tokenizer(const Gguf& file);
// And back. Throws Error(model) for one that we have not, or that is not vocab_size tokens.
TextSide read_gguf_text(const Gguf& file, int vocab_size);
TextSide read_gguf_text(const Gguf& file); // of as many tokens as there are
// The special tokens that the file names by their ids.
TextSide gguf_text_without_tokenizer(const Gguf& file, int vocab_size);

} // namespace ordo
