// SPDX-License-Identifier: MIT
// The files of llama2.c (Karpathy 2023): weights in its first, "legacy" layout, and vocabularies.
//   int32 dim, hidden, layers, heads, kv_heads, vocab, seq_len; vocab below zero: the head is not the embedding
//   f32   embedding [vocab, dim], rms_att [layers, dim], wq [layers, dim, dim], wk, wv [layers, kv, dim], wo [layers, dim, dim],
//         rms_ffn [layers, dim], w1 [layers, hidden, dim], w2 [layers, dim, hidden], w3 [layers, hidden, dim], rms_final [dim],
//         cosines and sines [seq_len, head / 2] each, which are computed here, and the head [vocab, dim]
// Pairs of rope are adjacent.
#pragma once

#include "formats/source.h"

namespace ordo {

// Whether a file begins as such a file does, whatever its size, or as one of a later layout, which is then refused by name.
bool is_llama2c(const std::filesystem::path& path);

// tokenizer: a vocabulary, as llama2c_vocabulary() reads it; empty: none. Throws Error.
Source llama2c_source(const std::filesystem::path& path, const std::filesystem::path& tokenizer = {});
// The same with the vocabulary that lies beside it: tok512.bin of 512 tokens, as llama2.c calls those that it trains, or tokenizer.bin.
Source llama2c_source_and_tokenizer(const std::filesystem::path& path);

// int32, the most bytes of a token; then for each token f32 score, int32 length, bytes.
struct Llama2cVocabulary {
    std::vector<std::string> tokens;
    std::vector<float> scores;
};
// Throws Error(model) for a file that is not such tokens, and vocab_size of them.
Llama2cVocabulary llama2c_vocabulary(const std::filesystem::path& path, int vocab_size);
// The same for bytes in memory.
Llama2cVocabulary llama2c_vocabulary(std::string_view bytes, int vocab_size, const std::string& where);

// The sizes in a header, checked; bytes: of the whole file. Throws Error(model).
struct Llama2cHeader {
    Blueprint blueprint;
    std::uint64_t bytes = 0;
};
inline constexpr std::size_t llama2c_header_bytes = 28;
Llama2cHeader llama2c_header(std::span<const std::byte> start, const std::string& where);

} // namespace ordo
