// SPDX-License-Identifier: MIT
// What a model's files say of its special tokens and of sampling, as our own files hold it.
#pragma once

#include "io/json.h"
#include "model/text_side.h"

namespace ordo {

std::string to_json(const SpecialTokens& special);
// Throws Error(model): a key unknown, an id that the vocabulary does not have.
SpecialTokens special_tokens_from_json(std::string_view json, std::string_view where, int vocab_size);

std::string to_json(const Sampling& sampling);
Sampling sampling_from_json(std::string_view json, std::string_view where);
// The values that generation_config.json recommends, as transformers' GenerationConfig reads it. A file that has
// do_sample and names a value gives all of them; one that it does not name has that class's default (temperature 1,
// top_k 50, top_p 1). null turns a value off, and do_sample false is temperature 0. Any other file recommends
// nothing. A value that cannot be used is a warning.
struct Recommended {
    std::optional<Sampling> sampling;
    std::vector<std::string> warnings;
};
Recommended recommended_sampling(const JsonValue& object);
// Those of its members that ask for what no sampler here does, by name: "num_beams, bad_words_ids". Empty: none.
std::string not_applied(const JsonValue& object);

} // namespace ordo
