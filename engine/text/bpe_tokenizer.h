// SPDX-License-Identifier: MIT
// Byte-level BPE: the text is cut into pieces (pre_tokenizer.h), each piece starts as its bytes, and
// the adjacent pair whose merge was learned first is merged, leftmost first, until none is left.
#pragma once

#include "text/added_tokens.h"
#include "text/merge_table.h"
#include "text/pre_tokenizer.h"
#include "text/tokenizer.h"

#include <array>

namespace ordo {

// What a tokenizer is made of. The 256 single bytes must be among the tokens, and added ones either
// repeat an entry of tokens or continue the ids; tokenizer_from_json checks that of a file.
struct BpeParts {
    std::vector<std::string> tokens; // the bytes of each id
    std::vector<Merge> merges;       // the first learned first
    std::vector<AddedToken> added;
};

class BpeTokenizer final : public Tokenizer {
public:
    explicit BpeTokenizer(BpeParts parts);

    int vocab_size() const override { return static_cast<int>(tokens_.size()); }
    void encode(std::string_view text, bool special, std::vector<Token>& out) const override;
    void append(Token token, std::string& out) const override;
    std::size_t longest() const override { return longest_; }
    Token end_of_text() const override { return end_of_text_; }
    std::string to_json() const override;
    const MergeTable& merges() const { return merges_; }

private:
    std::vector<std::string> tokens_; // the bytes of each id, added ones included
    std::size_t model_size_ = 0;      // ids below are the BPE's own
    std::size_t longest_ = 0;         // in bytes
    std::array<Token, 256> byte_ids_{};
    MergeTable merges_;
    AddedTokens added_;
    Token end_of_text_ = -1;
    PreTokenizer pre_tokenizer_;
};

} // namespace ordo
