// SPDX-License-Identifier: MIT
// The model of a tokenizer.json, which turns one piece of text into tokens. There are five.
//   BPE        merges of adjacent tokens in the order learned (Sennrich et al. 2016, arXiv 1508.07909)
//   ScoredBPE  merges wherever two tokens form another, the best score first: SentencePiece's BPE, as in GGUF files and
//              llama2.c (Kudo and Richardson 2018, arXiv 1808.06226)
//   Unigram    the split whose scores have the greatest sum (Kudo 2018, arXiv 1804.10959), by Viterbi's algorithm
//   WordPiece  the longest token first (Wu et al. 2016, arXiv 1609.08144; BERT)
//   WordLevel  the whole piece
#pragma once

#include "text/merge_table.h"
#include "text/tokenizer_file.h"
#include "text/vocabulary.h"

#include <memory>

namespace ordo {

// Unigram does not use tokens with this score or a lower one, except for a character that no other token has. In a
// vocabulary of two languages, such scores mark the tokens of the other language.
inline constexpr double never_taken = -1e30;

class TokenModel {
public:
    virtual ~TokenModel() = default;

    // Memory that encode() reuses between calls.
    struct Scratch {
        MergeTable::Scratch merges;
        struct Node { // the best path to a place in the text
            double score;
            std::uint32_t begin; // of its last token
            Token token;
        };
        std::vector<Node> nodes;
        std::vector<std::string_view> parts;
        std::vector<Token> tokens;
        std::string text;
    };
    // Appends the tokens of a non-empty piece, which may contain any bytes. O(n log n).
    virtual void encode(std::string_view piece, std::vector<Token>& out, Scratch& scratch) const = 0;
};

// The inputs for making a model.
struct ModelParts {
    const TokenizerFile& file;    // its member "model" has the options
    const Vocabulary& vocabulary; // must outlive the model
    std::vector<bool> special;    // of each id of the vocabulary: no text becomes it, whatever the spelling
    bool bytes;                   // pieces are bytes, and the vocabulary spells them in GPT-2's alphabet
    std::string where;
};
// Each throws Error(model).
std::unique_ptr<TokenModel> make_bpe(const ModelParts& parts);
std::unique_ptr<TokenModel> make_scored_bpe(const ModelParts& parts);
std::unique_ptr<TokenModel> make_unigram(const ModelParts& parts);
std::unique_ptr<TokenModel> make_word_piece(const ModelParts& parts);
std::unique_ptr<TokenModel> make_word_level(const ModelParts& parts);

// The fallback for text without a token: the bytes <0x00> to <0xFF>, if the vocabulary has them all and falls back to
// them.
class ByteFallback {
public:
    ByteFallback(const Vocabulary& vocabulary, bool wanted);
    // False, with nothing appended, if a byte of the text has no token.
    bool encode(std::string_view text, std::vector<Token>& out) const;

private:
    std::vector<Token> ids_; // of each byte; empty without fallback
};

} // namespace ordo
