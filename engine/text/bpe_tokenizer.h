// SPDX-License-Identifier: MIT
// The byte-level BPE that Ordo trains. The text is split with GPT-2's pattern (pre_tokenizer.h), and each piece starts
// as its bytes. Then the adjacent pair with the earliest merge is merged, leftmost first, until none is left.
#pragma once

#include "text/added_tokens.h"
#include "text/merge_table.h"
#include "text/tokenizer.h"

namespace ordo {

// The parts of such a tokenizer. Throws Error(model) unless the 256 single bytes are among the tokens, and each added
// token either repeats an entry of tokens or continues the ids.
struct BpeParts {
    std::vector<std::string> tokens; // the bytes of each id
    std::vector<Merge> merges;       // in the order learned
    std::vector<AddedToken> added;
};

std::unique_ptr<Tokenizer> make_bpe_tokenizer(const BpeParts& parts);

} // namespace ordo
