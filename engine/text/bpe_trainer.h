// SPDX-License-Identifier: MIT
// Trains a byte-level BPE on a corpus: repeatedly, the most frequent pair of adjacent tokens becomes a token (Sennrich
// et al. 2016, arXiv 1508.07909, algorithm 1).
#pragma once

#include "text/tokenizer.h"

namespace ordo {

inline constexpr int default_vocab_size = 4096;
inline constexpr int max_trained_vocab_size = 1 << 17; // the reader of tokenizer.json limits its memory

// The vocabulary: ids 0..255 are the bytes, then the products of the merges in the order learned, and <|endoftext|>
// last, as in GPT-2. Documents of the corpus are separated by <|endoftext|>, which is not counted. Among equally
// frequent pairs the lower left id is merged first, then the lower right id. A pair that occurs only once is not
// merged. The result therefore depends on the corpus and the size alone, and has fewer entries if the corpus yields
// fewer. Throws Error(usage) for a size below 257 or above max_trained_vocab_size.
std::unique_ptr<Tokenizer> train_bpe(std::string_view corpus, int vocab_size = default_vocab_size);

} // namespace ordo
