// SPDX-License-Identifier: MIT
// A model in files of any format, in Ordo's terms. A function for each format makes one. Loading, converting and
// showing a model start here.
#pragma once

#include "formats/assembly.h"
#include "formats/gguf/file.h"
#include "model/model_access.h"
#include "model/text_side.h"

namespace ordo {

struct Source {
    std::string where;  // the file or the directory, for messages
    std::string format; // "Ordo safetensors", "Hugging Face directory", "GGUF"
    Blueprint blueprint;
    std::string encoding; // the trained spec
    Metadata metadata;    // of the files
    TensorStore tensors;
    NameMap names;                                    // without rules, the names are Ordo's
    std::function<TextSide()> text;                   // reads it on demand, separately from the weights; empty: none
    std::function<TextSide()> text_without_tokenizer; // the special tokens that the model's files give as ids, and the
                                                      // sampling settings; empty: none
    std::vector<std::string> warnings;                // for the program that loads it
    std::function<GgufEntries()>
        gguf_vocabulary; // of a GGUF: its tokenizer in GGUF form, to write another file; else empty

    // tensor_list() and the encodings' tensors, for the blueprint and the encoding above.
    std::vector<TensorSpec> specs() const;
    Assembly assemble(const TensorSpec& spec, ErrorCode code = ErrorCode::model, const std::string& why = {}) const {
        return {tensors, names, blueprint, spec, where, code, why};
    }
    // The encodings of the spec. Throws Error(model) with the file's name.
    ModelEncodings trained_encodings() const;
};

// Opens a path by its content: an Ordo safetensors file, a GGUF or the first of several, a llama2.c file with its
// tokenizer next to it, or a Hugging Face directory. Any other file is refused with its kind. Throws Error.
Source open_source(const std::filesystem::path& path);
bool names_gguf(const std::filesystem::path& path); // whether it ends in .gguf, ignoring case

// The same with the tokenizer of another path: any that open_tokenizer() accepts, or for a llama2.c file also a
// tokenizer.bin. The special tokens are those of the files there, else the model's. text() reads the tokenizer, and
// refuses one with more tokens than the model has rows.
Source open_source(const std::filesystem::path& path, const std::filesystem::path& tokenizer);

// The tokenizer at a path, which may contain nothing else: a tokenizer.json or its directory, a GGUF with or without
// tensors, or any path for open_source(). No weights are read. Throws Error.
std::unique_ptr<const Tokenizer> open_tokenizer(const std::filesystem::path& path);

// The prefix of warnings about generation_config.json, which concern only programs that draw tokens.
inline constexpr std::string_view generation_warning = "generation_config.json: ";

// Part of the warnings about a tokenizer that cannot be read.
inline constexpr std::string_view no_text_warning = "without text, tokens alone work";

// The formats, one file each.
Source ordo_source(const std::shared_ptr<const Safetensors>& file);
Source hugging_face_source(const std::filesystem::path& directory);
// Adds model.safetensors of a directory or its shards, or else pytorch_model.bin or its shards.
void add_weights(TensorStore& store, const std::filesystem::path& directory);
std::unique_ptr<const Tokenizer> hugging_face_tokenizer(const std::filesystem::path& directory);
Source gguf_source(const std::filesystem::path& path);
// parts: the further files of a model in several, in order.
Source gguf_source(const std::shared_ptr<const Gguf>& file, std::span<const std::shared_ptr<const Gguf>> parts = {});

// Model::load() for an opened source.
Model load_model(const Source& source, const LoadOptions& options);
// For an Ordo safetensors file, or bytes in memory, which must outlive the call.
Model load_model(const Safetensors& file, const LoadOptions& options);

} // namespace ordo
