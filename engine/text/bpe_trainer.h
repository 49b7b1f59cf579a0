// SPDX-License-Identifier: MIT
// Learns a byte-level BPE from a corpus: again and again the most frequent pair of adjacent tokens
// becomes a token (Sennrich et al. 2016, arXiv 1508.07909, algorithm 1).
#pragma once

#include "text/tokenizer.h"

namespace ordo {

inline constexpr int default_vocab_size = 4096;
inline constexpr int max_trained_vocab_size = 1 << 17; // the reader of tokenizer.json bounds its memory

// The vocabulary: ids 0..255 are the bytes, then the merges' products in the order learned, and
// <|endoftext|> last, where GPT-2 has it. Documents of the corpus are separated by <|endoftext|>,
// which takes no part in the counting. Of pairs equally frequent the one with the lower left id is
// merged, then the one with the lower right id; a pair seen only once is not. The result therefore
// depends on the corpus and the size alone, and has fewer entries where the corpus does not yield
// as many. Throws Error(usage) for a size below 257 or above max_trained_vocab_size.
std::unique_ptr<Tokenizer> train_bpe(std::string_view corpus, int vocab_size = default_vocab_size);

} // namespace ordo
