// SPDX-License-Identifier: MIT
// A model as an Ordo safetensors file. Its metadata has
//   ordo.format     the version of this layout, "1"
//   blueprint       blueprint.h
//   encoding        a canonical spec
//   tokenizer       the text of a tokenizer.json, which may have fewer ids than the embedding has rows
//   special_tokens  {"start": 1, "end": [2], "padding": 0, ...}; without it the token <|endoftext|> begins and ends a
//                   text
//   sampling        {"temperature": 0.6, "top_k": 50, "top_p": 0.9}, if its makers recommend one
//   pooling, normalised  "mean", "first" or "last", and "true" or "false": the way from a text to a vector, if its
//                   makers give one
//   max_tokens, prompt, prompt_pooled  the tokens at which such a text is cut, the text before it, and "false" if the
//                   prompt's tokens are not pooled
//   weight_types    {"layers.0.attention.qkv.weight": "q4_0", ...} for the tensors stored as blocks. Files from before
//                   0.2 have none: there the bytes of a row distinguish q8_0 and q4_0
// and any further entries of its maker ("corpus", "command", ...). Its tensors are those of model_tensors(): F32, F16,
// BF16, or blocks in GGUF's layout, U8 [rows, row_bytes()].
#pragma once

#include "io/safetensors.h"
#include "model/model_access.h"

namespace ordo {

inline constexpr std::string_view model_format = "1";
inline constexpr std::string_view key_format = "ordo.format", key_blueprint = "blueprint", key_encoding = "encoding",
                                  key_tokenizer = "tokenizer", key_special_tokens = "special_tokens",
                                  key_sampling = "sampling", key_weight_types = "weight_types", key_pooling = "pooling",
                                  key_normalised = "normalised", key_max_tokens = "max_tokens", key_prompt = "prompt",
                                  key_prompt_pooled = "prompt_pooled";

struct ModelFile {
    Blueprint blueprint;
    std::string encoding;              // canonical spec
    std::string tokenizer;             // JSON; empty if there is none
    Metadata metadata;                 // further entries
    std::vector<TensorSpec> specs;     // of model_tensors()
    std::vector<View> values;          // one for each, contiguous rows (stride = cols)
    WeightType type = WeightType::f32; // of the matrices, see type_in_file()
};

// Opens a model like loading, but without the values of its weights. Throws Error. (formats/load_model.cpp)
void check_opens(const std::filesystem::path& path);

// Replaces the file as a whole or not at all, and only if the new one passes the check. Throws Error.
void write_model(const std::filesystem::path& path, const ModelFile& model, const FileCheck& check = check_opens);

// Throws Error(model) unless the embedding has a row for each id of the tokenizer. It must have no other rows, unless
// the text side allows them.
void check_vocabulary(const TextSide& text, const Blueprint& blueprint, const std::string& where);

// The architecture in the metadata. Throws Error(model).
Blueprint read_blueprint(const Safetensors& file);
// A member of the metadata. Throws Error(model) if it is missing.
const std::string& required_metadata(const Safetensors& file, std::string_view key);

// The type of a tensor in a file whose weights have the wanted type. Half precision holds everything; with blocks the
// rules of type_within() apply.
WeightType type_in_file(WeightType wanted, const TensorSpec& spec);

// The value of weight_types: the tensors stored as blocks, by name. Empty if there are none.
std::string weight_types_json(const std::map<std::string, WeightType, std::less<>>& types);
std::map<std::string, WeightType, std::less<>> weight_types_from_json(std::string_view json, std::string_view where);

} // namespace ordo
