// SPDX-License-Identifier: MIT
// The models that the page has opened, by the names of their files.
#pragma once

#include "model/model_access.h"

namespace ordo::web {

struct OpenModel {
    Model model;
    std::uint64_t parameters = 0;
    std::map<std::string, Model> scaled = {}; // the same weights with other keys of RoPE
};

// Loads the file at a path, unless a model of that name is open. Throws Error.
const OpenModel& open_model(const std::string& file, const std::string& path);
const OpenModel& open_model(const std::string& file); // Error(usage): it is not open
// The model with these keys of RoPE: "scaling=yarn,factor=4".
const Model& scaled_model(const std::string& file, const std::string& keys);

// The tokens of a text, after the model's start token. Throws Error(usage) if there are none.
std::vector<Token> tokens_of(const Model& model, std::string_view text);
// Its bytes; of a special token its name, such as <|endoftext|>.
std::string token_text(const Model& model, Token token);
// The only encoding that acts in a layer. Throws Error(usage) for none and for a sum.
const Encoding& encoding_in(const ModelEncodings& stack, int layer);

} // namespace ordo::web
