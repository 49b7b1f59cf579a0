// SPDX-License-Identifier: MIT
// Byte-level BPE as it is made here: the text is cut as GPT-2 cuts it (pre_tokenizer.h), each piece starts as its
// bytes, and the adjacent pair whose merge was learned first is merged, leftmost first, until none is left.
#pragma once

#include "text/added_tokens.h"
#include "text/merge_table.h"
#include "text/tokenizer.h"

namespace ordo {

// What such a tokenizer is made of. The 256 single bytes must be among the tokens, and added ones either repeat an
// entry of tokens or continue the ids; or Error(model).
struct BpeParts {
    std::vector<std::string> tokens; // the bytes of each id
    std::vector<Merge> merges;       // the first learned first
    std::vector<AddedToken> added;
};

std::unique_ptr<Tokenizer> make_bpe_tokenizer(const BpeParts& parts);

} // namespace ordo
