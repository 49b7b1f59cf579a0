// SPDX-License-Identifier: MIT
// What a run is made of, checked before it begins. All of it throws Error.
#pragma once

#include "core/weight_type.h"
#include "text/tokenizer.h"
#include "tools/train/train.h"
#include "training/network.h"

namespace ordo::train {

// The options with what follows from them filled in; what can be said before anything is read has been.
Options resolved(Options options);

WeightType stored_type(const std::string& dtype);

// Has a token for the end of text.
std::unique_ptr<Tokenizer> make_tokenizer(const Options& options);

// The trunk for a tokenizer, if there is memory to train it.
Blueprint fitting_trunk(const Options& options, const Tokenizer& tokenizer);

// Takes over the tensors of options.init that have the same name and shape; the rest start fresh.
void load_initial(const Options& options, Parameters& parameters);
// That a file's record says its weights were trained on, and those that it started from; 0 if it says nothing.
std::int64_t tokens_seen(const std::filesystem::path& file);

} // namespace ordo::train
