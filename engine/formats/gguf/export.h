// SPDX-License-Identifier: MIT
// Writes any model as a GGUF for llama.cpp.
#pragma once

#include "formats/gguf/file.h"
#include "formats/source.h"

namespace ordo {

// The content of a file: write_gguf(path, metadata, tensors). Tensors are read from the source when they are written.
// The source must outlive it.
struct GgufExport {
    std::string architecture;
    GgufEntries metadata;
    std::vector<GgufStored> tensors;
};

// type: of the matrices; empty: as they are stored. Vectors are f32. With blocks the rules of type_within() apply.
// Throws Error(usage) for properties that GGUF cannot express, with their names and the supported values.
GgufExport gguf_export(const Source& source, std::optional<WeightType> type);
GgufExport gguf_export(Source&&, std::optional<WeightType>) = delete;

// The tokenizer of a model as GGUF's arrays, tokenizer.ggml.*. vocab_size: of the model, which may have ids without
// text. Throws Error(usage) for a tokenizer that llama.cpp lacks.
GgufEntries gguf_entries(const TextSide& text, int vocab_size, const std::string& where);
// The tokenizer of a file that may have nothing else. Throws Error(model).
std::unique_ptr<Tokenizer> gguf_tokenizer(const Gguf& file);
// The inverse. Throws Error(model) for an unknown tokenizer, or one without exactly vocab_size tokens.
TextSide read_gguf_text(const Gguf& file, int vocab_size);
TextSide read_gguf_text(const Gguf& file); // of any number of tokens
// The special tokens that the file gives as ids.
TextSide gguf_text_without_tokenizer(const Gguf& file, int vocab_size);

} // namespace ordo
