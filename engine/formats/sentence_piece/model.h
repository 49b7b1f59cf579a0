// SPDX-License-Identifier: MIT
// SentencePiece's own model files, .spm and .model (Kudo and Richardson 2018, arXiv 1808.06226): a message of its
// sentencepiece_model.proto.
#pragma once

#include "formats/gguf/vocabulary.h"

namespace ordo {

struct SentencePieceModel {
    enum Kind : std::uint64_t { unigram = 1, bpe, word, character };

    struct Piece {
        std::string text;
        float score = 0;
        GgufVocabulary::Type type = GgufVocabulary::normal; // both use the same numbers
    };
    std::uint64_t kind = unigram;
    std::vector<Piece> pieces;
    std::string charsmap; // the normalisation of a text; empty: none
    bool add_dummy_prefix = true, remove_extra_whitespaces = true, escape_whitespaces = true;
    bool byte_fallback = false, whitespace_as_suffix = false;
    // Ids of the special pieces: unknown, and those before, after and between texts; negative: none.
    std::int32_t unknown = 0, start = 1, end = 2, padding = -1;
};

// bytes: the content of a file. Throws Error(model).
SentencePieceModel read_sentence_piece(std::string_view bytes, std::string_view where);

} // namespace ordo
