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
        GgufVocabulary::Type type = GgufVocabulary::normal; // the two number them alike
    };
    std::uint64_t kind = unigram;
    std::vector<Piece> pieces;
    std::string charsmap; // what normalises a text; empty: nothing does
    bool add_dummy_prefix = true, remove_extra_whitespaces = true, escape_whitespaces = true;
    bool byte_fallback = false, whitespace_as_suffix = false;
    // Ids of the pieces that stand for what has none, and before, behind and beside a text; less than 0: there is none.
    std::int32_t unknown = 0, start = 1, end = 2, padding = -1;
};

// bytes: of a file. Throws Error(model).
SentencePieceModel read_sentence_piece(std::string_view bytes, std::string_view where);

} // namespace ordo
