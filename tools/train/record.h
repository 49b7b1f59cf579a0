// SPDX-License-Identifier: MIT
// A run as data: the metadata of its output file, and whether the runs of two files differ only by their encoding and
// seed.
#pragma once

#include "model/model_access.h"
#include "tools/train/train.h"

namespace ordo::train {

class Corpus;

// The texts that a run uses.
struct Sources {
    const Corpus& corpus;
    const Corpus& validation;
    const Corpus* finish;    // null: none
    std::string init_sha256; // of the file it starts from; empty: random initial weights
    std::string tokenizer;   // as JSON
};

// The run's settings that decide the weights, besides sizes, texts and rates: its initialisation and its steps.
Metadata method(const Options& options);
// Everything that decides the resulting weights, except the blueprint, the encoding and the tokenizer, which every file
// stores anyway.
Metadata recipe(const Options& options, const Sources& sources);

// The conditions that a resumed run must share with its checkpoint: sizes and rates under the names of their options,
// and the method as in records. encoding: canonical.
Metadata conditions_of_run(const Options& options, const Sources& sources, const std::string& encoding);

// The first condition that differs between two records, besides the encoding and the seed. Empty if the comparison is
// controlled. Files without a complete record are compared by their commands.
std::string differing_condition(const Metadata& a, const Metadata& b);

// A digest of a run at a step. If anything differs, the digest almost certainly differs too.
std::uint64_t digest_of(const Metadata& conditions, std::int64_t step, std::span<const float> values);

} // namespace ordo::train
