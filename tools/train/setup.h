// SPDX-License-Identifier: MIT
// The parts of a run, checked before it begins. All functions throw Error.
#pragma once

#include "core/weight_type.h"
#include "text/tokenizer.h"
#include "tools/train/train.h"
#include "training/network.h"

namespace ordo::train {

// Fills in the options that follow from others, and checks everything that can be checked before a file is read.
Options resolved(Options options);

WeightType stored_type(const std::string& dtype);

// The tokenizer always has an end-of-text token.
std::unique_ptr<Tokenizer> make_tokenizer(const Options& options);

// The trunk for a tokenizer. Throws if there is not enough memory to train it.
Blueprint fitting_trunk(const Options& options, const Tokenizer& tokenizer);

// Copies the tensors of options.init with the same name and shape. The others keep their initial values.
void load_initial(const Options& options, Parameters& parameters);
// The number of tokens that a file's weights, and the weights they started from, were trained on, by its record; or 0.
std::int64_t tokens_seen(const std::filesystem::path& file);

} // namespace ordo::train
