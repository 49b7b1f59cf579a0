// SPDX-License-Identifier: MIT
// The special tokens and sampling settings of a model, in the JSON of Ordo's own files.
#pragma once

#include "io/json.h"
#include "model/text_side.h"

namespace ordo {

std::string to_json(const SpecialTokens& special);
// Throws Error(model) for an unknown key, and for an id outside the vocabulary.
SpecialTokens special_tokens_from_json(std::string_view json, std::string_view where, int vocab_size);

std::string to_json(const Sampling& sampling);
Sampling sampling_from_json(std::string_view json, std::string_view where);
// The values that generation_config.json recommends, as in transformers' GenerationConfig. A file with do_sample and at
// least one value recommends all values; missing ones have that class's default (temperature 1, top_k 50, top_p 1).
// null turns a value off, and do_sample false is temperature 0. Any other file recommends nothing. An unusable value is
// a warning.
struct Recommended {
    std::optional<Sampling> sampling;
    std::vector<std::string> warnings;
};
Recommended recommended_sampling(const JsonValue& object);
// The names of members that need an unsupported sampler: "num_beams, bad_words_ids". Empty if there are none.
std::string not_applied(const JsonValue& object);

} // namespace ordo
