// SPDX-License-Identifier: MIT
// Tokenizers in the metadata of a GGUF file, tokenizer.ggml.*. They are converted to the form of a tokenizer.json and
// read from there. Also the inverse, for writing a file.
#pragma once

#include "text/tokenizer.h"

#include <optional>

namespace ordo {

inline constexpr std::string_view space_mark = "\u2581"; // SentencePiece's space

struct GgufVocabulary {
    enum Type : std::int32_t { normal = 1, unknown_type, control, user_defined, unused, byte };

    std::string model; // gpt2, llama, bert, t5
    std::string pre;   // of gpt2: the pattern that splits a text
    std::vector<std::string> tokens;
    std::vector<float> scores;       // of llama and t5
    std::vector<std::int32_t> types; // empty: all normal
    std::vector<std::string> merges; // of gpt2: "left right"
    std::string charsmap;            // precompiled_charsmap, of t5
    bool byte_fallback =
        false; // of t5: bytes for text without a token. SentencePiece's own files give it; a GGUF has no key
    // The user's tokens are searched in the text after its spaces have become U+2581, if the tokens contain one.
    // SentencePiece's own files work like this. llama.cpp searches them in the original text.
    bool escaped_symbols = false;
    // Ids; -1 if the file has none. bos is bert's [CLS], eos its [SEP].
    Token bos = -1, eos = -1, unknown = -1, separator = -1;
    // The .cpp has the defaults for files without these keys.
    std::optional<bool> add_bos, add_eos, add_space_prefix, remove_extra_whitespaces;
};

// where names the file in errors. Throws Error(model) with the name of an unknown model or pre-tokenizer.
std::unique_ptr<Tokenizer> tokenizer_from_gguf(const GgufVocabulary& vocabulary, std::string_view where);

// The pieces and scores of a llama2.c tokenizer file: those of SentencePiece, with spaces for U+2581. The first three
// are <unk>, <s> and </s>.
std::unique_ptr<Tokenizer> tokenizer_from_llama2c(std::vector<std::string> pieces, std::vector<float> scores,
                                                  std::string_view where);

// The GGUF vocabulary of a tokenizer. Throws Error(model) with the name of a component that GGUF cannot express.
GgufVocabulary gguf_vocabulary(const Tokenizer& tokenizer);

// The patterns that split a text, in order, under llama.cpp's name.
struct GgufCut {
    std::string_view name;
    std::vector<std::string_view> patterns; // in Oniguruma's syntax
    bool ignore_merges = false;
    bool add_bos = false; // default of the file's key
};
const GgufCut* find_gguf_cut(std::string_view name);
std::string gguf_cut_names(); // all names: "gpt-2, phi-2 and mpt"
const GgufCut* find_gguf_cut(const std::vector<std::string>& patterns, bool ignore_merges);

} // namespace ordo
