// SPDX-License-Identifier: MIT
// Text to tokens and back. Every tokenizer here is a byte-level BPE (Sennrich et al. 2016,
// arXiv 1508.07909, on bytes as GPT-2 does): the 256 bytes are always in the vocabulary, so any
// bytes at all can be encoded, and decoding gives them back exactly.
//
// A Tokenizer is immutable: all methods are const and may run on many threads at once.
#pragma once

#include "ordo.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ordo {

inline constexpr std::string_view end_of_text_name = "<|endoftext|>";

class Tokenizer {
public:
    virtual ~Tokenizer() = default;

    virtual int vocab_size() const = 0;
    // Appends the tokens of text to out. With special, the text of a special token becomes that
    // token; without, it is ordinary text. O(n log n) in the length of text whatever it holds. Throws
    // Error(limit) for 2 GiB and more.
    virtual void encode(std::string_view text, bool special, std::vector<Token>& out) const = 0;
    // Appends the bytes of one token to out: they may begin or end inside a UTF-8 sequence, and
    // those of a special token are its name. Throws Error(limit) for an id out of range.
    virtual void append(Token token, std::string& out) const = 0;
    // The most bytes that one token has.
    virtual std::size_t longest() const = 0;
    // The token named <|endoftext|>; -1 if there is none.
    virtual Token end_of_text() const = 0;
    // The same tokenizer as a Hugging Face tokenizer.json.
    virtual std::string to_json() const = 0;
};

// 257 entries: ids 0..255 are the bytes, 256 is <|endoftext|>. It is a BPE without merges.
std::unique_ptr<Tokenizer> make_byte_tokenizer();

// Reads a tokenizer.json of GPT-2's kind; where names it in errors. A component that would change
// the tokens and is not supported is refused by name, never guessed. Throws Error(model).
std::unique_ptr<Tokenizer> tokenizer_from_json(std::string_view json, std::string_view where);

} // namespace ordo
