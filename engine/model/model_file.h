// SPDX-License-Identifier: MIT
// A model as a safetensors file of our own. Its metadata holds
//   ordo.format     the version of this layout, "1"
//   blueprint       blueprint.h
//   encoding        a canonical spec
//   tokenizer       the text of a tokenizer.json, whose ids may be fewer than the rows of the embedding
//   special_tokens  {"start": 1, "end": [2], "padding": 0, ...}; without it the token <|endoftext|> begins and ends a
//     text
//   sampling        {"temperature": 0.6, "top_k": 50, "top_p": 0.9}, if its makers recommend one
//   pooling, normalised  "mean", "first" or "last", and "true" or "false": how a text's vector is made, if its makers
//     say so
//   weight_types    {"layers.0.attention.qkv.weight": "q4_0", ...} of the tensors that are blocks in bytes. Files of
//     before
//                   0.2 have none: there the bytes of a row tell q8_0 and q4_0 apart
// and whatever else its maker wants to say of it ("corpus", "command", ...). Its tensors are those of model_tensors():
// F32, F16, BF16, or blocks as GGUF lays them out, U8 [rows, row_bytes()].
#pragma once

#include "io/safetensors.h"
#include "model/model.h"

namespace ordo {

inline constexpr std::string_view model_format = "1";
inline constexpr std::string_view key_format = "ordo.format", key_blueprint = "blueprint", key_encoding = "encoding",
                                  key_tokenizer = "tokenizer", key_special_tokens = "special_tokens",
                                  key_sampling = "sampling", key_weight_types = "weight_types", key_pooling = "pooling",
                                  key_normalised = "normalised";

struct ModelFile {
    Blueprint blueprint;
    std::string encoding;              // canonical spec
    std::string tokenizer;             // JSON; empty: none
    Metadata metadata;                 // what else shall be recorded
    std::vector<TensorSpec> specs;     // of model_tensors()
    std::vector<View> values;          // one for each, rows side by side (stride = cols)
    WeightType type = WeightType::f32; // of the matrices, see type_in_file()
};

// Opens a model, all but the values of its weights, as loading it does. Throws Error. (formats/load.cpp)
void check_opens(const std::filesystem::path& path);

// Replaces the file as a whole or not at all, and only by one that passes the check. Throws Error.
void write_model(const std::filesystem::path& path, const ModelFile& model, const FileCheck& check = check_opens);

// Throws Error(model) unless the embedding has a row for each id of the tokenizer, and no others where the text's side
// does not allow them.
void check_vocabulary(const TextSide& text, const Blueprint& blueprint, const std::string& where);

// What the metadata says of the architecture. Throws Error(model).
Blueprint read_blueprint(const Safetensors& file);
// A member of the metadata. Throws Error(model) if there is none.
const std::string& required_metadata(const Safetensors& file, std::string_view key);

// The type that a tensor gets in a file of weights of the type asked for: halves hold everything; beside
// blocks the rules of type_within() hold.
WeightType type_in_file(WeightType wanted, const TensorSpec& spec);

// The value of weight_types for tensors that are blocks, by name; empty if none is.
std::string weight_types_json(const std::map<std::string, WeightType, std::less<>>& types);
std::map<std::string, WeightType, std::less<>> weight_types_from_json(std::string_view json, std::string_view where);

} // namespace ordo
