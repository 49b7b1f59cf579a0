// SPDX-License-Identifier: MIT
// The same tokenizers from what the metadata of a GGUF file says of them, tokenizer.ggml.*: they are brought into the
// form of a tokenizer.json and then go the same way. And back, for a file that is to be written.
#pragma once

#include "text/tokenizer.h"

#include <optional>

namespace ordo {

struct GgufVocabulary {
    enum Type : std::int32_t { normal = 1, unknown_type, control, user_defined, unused, byte };

    std::string model; // gpt2, llama, bert, t5
    std::string pre;   // of gpt2: how a text is cut
    std::vector<std::string> tokens;
    std::vector<float> scores;       // of llama and t5
    std::vector<std::int32_t> types; // empty: all normal
    std::vector<std::string> merges; // of gpt2: "left right"
    std::string charsmap;            // precompiled_charsmap, of t5
    bool byte_fallback =
        false; // of t5: what has no token becomes bytes. SentencePiece's own files say so; a GGUF has no key
    // The user's tokens are looked for in a text whose spaces have become U+2581, if they have one: so do
    // SentencePiece's own files, where llama.cpp looks for them in the text as it comes.
    bool escaped_symbols = false;
    // Ids; -1 where the file says none. bos is bert's [CLS], eos its [SEP].
    Token bos = -1, eos = -1, unknown = -1, separator = -1;
    // What goes without saying where the file does not: see the .cpp.
    std::optional<bool> add_bos, add_eos, add_space_prefix, remove_extra_whitespaces;
};

// where names the file in errors. Throws Error(model): a model or a pre-tokenizer that is not known is refused by name.
std::unique_ptr<Tokenizer> tokenizer_from_gguf(const GgufVocabulary& vocabulary, std::string_view where);

// The pieces and scores of a llama2.c tokenizer file: SentencePiece's, with spaces for U+2581; the first three are
// <unk>, <s> and </s>.
std::unique_ptr<Tokenizer> tokenizer_from_llama2c(std::vector<std::string> pieces, std::vector<float> scores,
                                                  std::string_view where);

// What a GGUF file says of a tokenizer. Throws Error(model) naming the component of one that it has no words for.
GgufVocabulary gguf_vocabulary(const Tokenizer& tokenizer);

// The patterns that a text is cut by, one after the other, under the name that llama.cpp gives them; none if it is
// not known.
struct GgufCut {
    std::string_view name;
    std::vector<std::string_view> patterns; // in Oniguruma's syntax
    bool ignore_merges = false;
    bool add_bos = false; // where the file does not say
};
const GgufCut* find_gguf_cut(std::string_view name);
std::string gguf_cut_names(); // of all of them: "gpt-2, phi-2 and mpt"
const GgufCut* find_gguf_cut(const std::vector<std::string>& patterns, bool ignore_merges);

} // namespace ordo
