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
// The members temperature, top_k, top_p, min_p and repetition_penalty of an object, those that it has. do_sample false is
// temperature 0. Nothing if it has none of these.
std::optional<Sampling> sampling_from(const JsonValue& object, std::string_view where);
// Those of its members that ask for what no sampler here does, by name: "num_beams, bad_words_ids". Empty: none.
std::string not_applied(const JsonValue& object);

} // namespace ordo
