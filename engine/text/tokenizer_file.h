// SPDX-License-Identifier: MIT
// A tokenizer.json, taken apart while it is parsed: the vocabulary and the merges, of which there are many
// thousands, lie flat in memory, and only what is left is a tree. A tree of all of it would take ten times
// the file, and longer to build than the weights of a small model take to be read.
#pragma once

#include "io/json.h"
#include "text/packed_strings.h"

namespace ordo {

struct TokenizerFile {
    static constexpr std::size_t max_entries = std::size_t{1} << 22; // of the vocabulary, and of merges

    JsonValue rest;             // model.vocab and model.merges are there, and empty
    PackedStrings vocab;        // spellings in the order of the file
    std::vector<int> ids;       // of each, not negative
    std::vector<double> scores; // of each, where the vocabulary is a list of [spelling, score]: ids count up
    PackedStrings merges;       // left, right, left, right, ...
};

// Checks the text as JSON, and that the vocabulary and the merges have the form that they must have. Keys
// of the vocabulary may still come twice. Throws Error(model).
TokenizerFile read_tokenizer_file(std::string_view json, std::string_view where);

} // namespace ordo
