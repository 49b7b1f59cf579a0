// SPDX-License-Identifier: MIT
// Splits a tokenizer.json while parsing it. The vocabulary and the merges, many thousands of entries, are stored flat,
// and only the rest is a tree. A tree of the whole would take ten times the file, and more time than loading the
// weights of a small model.
#pragma once

#include "io/json.h"
#include "text/packed_strings.h"

namespace ordo {

struct TokenizerFile {
    static constexpr std::size_t max_entries = std::size_t{1} << 22; // of the vocabulary, and of the merges

    JsonValue rest;             // model.vocab and model.merges are present, but empty
    PackedStrings vocab;        // spellings in the order of the file
    std::vector<int> ids;       // of each, not negative
    std::vector<double> scores; // of each spelling, if the vocabulary is a list of [spelling, score]: ids count up
    bool repeats = false;       // whether the vocabulary is an object, which may repeat a key
    PackedStrings merges;       // left, right, left, right, ...
};

// Checks that the text is JSON, and that the vocabulary and the merges have the required form. Keys of the vocabulary
// may be duplicates, of which the last one counts. Throws Error(model).
TokenizerFile read_tokenizer_file(std::string_view json, std::string_view where);

} // namespace ordo
