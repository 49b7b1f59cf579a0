// SPDX-License-Identifier: MIT
// What a run was, as data: the metadata of the file that it writes, and whether two files come from runs that differ by
// their encoding and seed alone.
#pragma once

#include "model/model.h"
#include "tools/train/train.h"

namespace ordo::train {

class Corpus;

// The texts that a run was made of.
struct Sources {
    const Corpus& corpus;
    const Corpus& validation;
    const Corpus* finish;    // null: none
    std::string init_sha256; // of the file it starts from; empty: it starts from random weights
    std::string tokenizer;   // as JSON
};

// How a run starts and steps: of what decides the weights, that which is no size, text or rate.
Metadata method(const Options& options);
// All that decides which weights come out, but for the blueprint, the encoding and the tokenizer, which a file has
// anyway.
Metadata recipe(const Options& options, const Sources& sources);

// What must be equal for a checkpoint to be continued: sizes and rates by the names of their options, the method as
// records have it. encoding: canonical.
Metadata conditions_of_run(const Options& options, const Sources& sources, const std::string& encoding);

// The first condition in which two records differ though not by the encoding or the seed; empty if they are controlled.
// Files from before runs were recorded as a whole are compared by the command that made them.
std::string differing_condition(const Metadata& a, const Metadata& b);

// Of a run at a step: another number, but for chance, where anything differs.
std::uint64_t digest_of(const Metadata& conditions, std::int64_t step, std::span<const float> values);

} // namespace ordo::train
