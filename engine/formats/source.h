// SPDX-License-Identifier: MIT
// A model as somebody's files hold it, in Ordo's terms. Each format is a function that makes one; loading, converting
// and showing a model begin here, whatever it was stored as.
#pragma once

#include "formats/assembly.h"
#include "formats/gguf/file.h"
#include "model/model.h"
#include "model/text_side.h"

namespace ordo {

struct Source {
    std::string where;  // the file or the directory, for messages
    std::string format; // "Ordo safetensors", "Hugging Face directory", "GGUF"
    Blueprint blueprint;
    std::string encoding; // the spec that the weights were trained with
    Metadata metadata;    // what the files record of themselves
    TensorStore tensors;
    NameMap names;                                    // no rules: theirs are ours
    std::function<TextSide()> text;                   // made when asked for, beside the weights; empty: none
    std::function<TextSide()> text_without_tokenizer; // the special tokens that the model's own files name by their
                                                      // ids, and the sampling; empty: none
    std::vector<std::string> warnings;                // for whoever loads it
    std::function<GgufEntries()>
        gguf_vocabulary; // of a GGUF: its tokenizer as it stands there, for another; else empty

    // tensor_list() and the encodings' own, of the blueprint and the encoding above.
    std::vector<TensorSpec> specs() const;
    Assembly assemble(const TensorSpec& spec, ErrorCode code = ErrorCode::model, const std::string& why = {}) const {
        return {tensors, names, blueprint, spec, where, code, why};
    }
    // The encodings of the spec. Throws Error(model) naming the file.
    EncodingStack trained_encodings() const;
};

// What a path leads to, by what is there: an Ordo safetensors file, a GGUF or the first of several, a file of
// llama2.c's with its tokenizer beside it, or a directory of Hugging Face's. Anything else is refused as what it is.
// Throws Error.
Source open_source(const std::filesystem::path& path);
bool names_gguf(const std::filesystem::path& path); // whether it ends in .gguf, in letters of any case

// The same with the tokenizer of another path: one that open_tokenizer() takes, or for a file of llama2.c's also a
// tokenizer.bin. The special tokens are those that the files there name, else the model's. text() reads the tokenizer,
// and refuses one of more tokens than the model has rows.
Source open_source(const std::filesystem::path& path, const std::filesystem::path& tokenizer);

// The tokenizer at a path, where nothing else has to be: a tokenizer.json or its directory, a GGUF with or without
// tensors, whatever open_source() takes. No weights are read. Throws Error.
std::unique_ptr<const Tokenizer> open_tokenizer(const std::filesystem::path& path);

// In the warnings that are of generation_config.json: they concern those alone who draw tokens.
inline constexpr std::string_view generation_warning = "generation_config.json: ";

// In the warnings of a tokenizer that cannot be read.
inline constexpr std::string_view no_text_warning = "without text, tokens alone work";

// The formats, one file each.
Source ordo_source(const std::shared_ptr<const Safetensors>& file);
Source hugging_face_source(const std::filesystem::path& directory);
std::unique_ptr<const Tokenizer> hugging_face_tokenizer(const std::filesystem::path& directory);
Source gguf_source(const std::filesystem::path& path);
// parts: what follows a file that is the first of a model in several, in their order.
Source gguf_source(const std::shared_ptr<const Gguf>& file, std::span<const std::shared_ptr<const Gguf>> parts = {});

// The same as Model::load() from what has been opened.
Model load_model(const Source& source, const LoadOptions& options);
// Of an Ordo safetensors file, or bytes in memory in its place, which must outlive the call.
Model load_model(const Safetensors& file, const LoadOptions& options);

} // namespace ordo
