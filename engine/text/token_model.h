// SPDX-License-Identifier: MIT
// What takes one piece of text to tokens: the model of a tokenizer.json. There are four.
//   BPE        merges of adjacent tokens in the order learned (Sennrich et al. 2016, arXiv 1508.07909)
//   ScoredBPE  merges wherever the two make a token, the best score first: SentencePiece's BPE, as GGUF files and
//              llama2.c have it (Kudo and Richardson 2018, arXiv 1808.06226)
//   Unigram    the split whose scores have the greatest sum (Kudo 2018, arXiv 1804.10959), by Viterbi's algorithm
//   WordPiece  the longest token first (Wu et al. 2016, arXiv 1609.08144; BERT)
#pragma once

#include "text/merge_table.h"
#include "text/tokenizer_file.h"
#include "text/vocabulary.h"

#include <memory>

namespace ordo {

// A score at which, or below, Unigram never takes a token for what text spells: that of a token of another language's
// text, in a vocabulary of two. A character that no other token has still finds it.
inline constexpr double never_taken = -1e30;

class TokenModel {
public:
    virtual ~TokenModel() = default;

    // Memory that encode() reuses from call to call.
    struct Scratch {
        MergeTable::Scratch merges;
        struct Node { // the best way to a place in the text
            double score;
            std::uint32_t begin; // of its last token
            Token token;
        };
        std::vector<Node> nodes;
        std::vector<std::string_view> parts;
        std::vector<Token> tokens;
        std::string text;
    };
    // Appends the tokens of a piece, which is not empty and may hold any bytes. O(n log n).
    virtual void encode(std::string_view piece, std::vector<Token>& out, Scratch& scratch) const = 0;
};

// What a model is made of.
struct ModelParts {
    const TokenizerFile& file;    // its member "model" has the options
    const Vocabulary& vocabulary; // must outlive the model
    std::vector<bool> special;    // of each id of the vocabulary: text never becomes it, whatever it spells
    bool bytes;                   // pieces come as bytes, and the vocabulary spells them in GPT-2's alphabet
    std::string where;
};
// Each throws Error(model).
std::unique_ptr<TokenModel> make_bpe(const ModelParts& parts);
std::unique_ptr<TokenModel> make_scored_bpe(const ModelParts& parts);
std::unique_ptr<TokenModel> make_unigram(const ModelParts& parts);
std::unique_ptr<TokenModel> make_word_piece(const ModelParts& parts);

// What becomes of text that a vocabulary has no token for: the bytes <0x00> to <0xFF> if it has them all and falls
// back to them.
class ByteFallback {
public:
    ByteFallback(const Vocabulary& vocabulary, bool wanted);
    // False, and nothing is appended, if a byte of the text has no token.
    bool encode(std::string_view text, std::vector<Token>& out) const;

private:
    std::vector<Token> ids_; // of each byte; empty if there is no falling back
};

} // namespace ordo
