// SPDX-License-Identifier: MIT
// The files of llama2.c (Karpathy 2023): vocabularies, and weights in the three layouts of its export.py. The first,
// "legacy":
//   int32 dim, hidden, layers, heads, kv_heads, vocab, seq_len; a negative vocab means that the head is not tied
//   f32   embedding [vocab, dim], rms_att [layers, dim], wq [layers, dim, dim], wk, wv [layers, kv, dim],
//         wo [layers, dim, dim], rms_ffn [layers, dim], w1 [layers, hidden, dim], w2 [layers, dim, hidden],
//         w3 [layers, hidden, dim], rms_final [dim], cosines and sines [seq_len, head / 2] each, which Ordo
//         computes, and the head [vocab, dim]
// Versions 1 and 2:
//   int32 "ak42", the version, the seven sizes; u8, whether the head is tied; in version 2 int32, the group size;
//         zeros up to byte 256
//   f32   rms_att, rms_ffn, rms_final
//   then the embedding, wq, wk, wv, wo, w1, w2, w3 and the head: in version 1 f32, in version 2 each matrix as signed
//         bytes, then an f32 scale for each group of them (runq.c)
// Pairs of rope are adjacent columns.
#pragma once

#include "formats/source.h"

namespace ordo {

// Whether the start of a file is valid for its size, or names a version.
bool is_llama2c(const std::filesystem::path& path);

// tokenizer: a vocabulary for llama2c_vocabulary(); empty: none. Throws Error.
Source llama2c_source(const std::filesystem::path& path, const std::filesystem::path& tokenizer = {});
// The same with the vocabulary in the same directory: tok512.bin for 512 tokens, llama2.c's name for vocabularies that
// it trains, or tokenizer.bin.
Source llama2c_source_and_tokenizer(const std::filesystem::path& path);

// The text side from such a vocabulary of vocab_size tokens. Throws Error.
TextSide llama2c_text(const std::filesystem::path& tokenizer, int vocab_size);

// int32, the maximum bytes of a token; then for each token f32 score, int32 length, bytes.
struct Llama2cVocabulary {
    std::vector<std::string> tokens;
    std::vector<float> scores;
};
// Throws Error(model) unless the file holds exactly vocab_size such tokens.
Llama2cVocabulary llama2c_vocabulary(const std::filesystem::path& path, int vocab_size);
// The same for bytes in memory.
Llama2cVocabulary llama2c_vocabulary(std::string_view bytes, int vocab_size, const std::string& where);

// The checked sizes in a header. bytes: of the whole file. Throws Error(model).
struct Llama2cHeader {
    Blueprint blueprint;
    std::uint64_t bytes = 0;
    int version = 0, group = 0; // group: numbers that share a scale, in version 2

    std::size_t header_bytes() const;
};
// start: the first llama2c_version_header_bytes of a file, or all of a smaller one.
inline constexpr std::size_t llama2c_header_bytes = 28, llama2c_version_header_bytes = 256;
Llama2cHeader llama2c_header(std::span<const std::byte> start, const std::string& where);

} // namespace ordo
