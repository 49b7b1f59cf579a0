// SPDX-License-Identifier: MIT
// Text to tokens and back, as the pipeline of a Hugging Face tokenizer.json has it:
//   added tokens > normalizer > added tokens > pre-tokenizer > model > post-processor, and back by a decoder.
// A Tokenizer is immutable: all methods are const and may run on many threads at once. Any bytes can be encoded; a
// byte-level BPE gives them back exactly, others give up what their normalizers and vocabularies do.
#pragma once

#include "ordo.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ordo {

inline constexpr std::string_view end_of_text_name = "<|endoftext|>";

// What is put around a text, or around two and between them: [CLS] a [SEP] b [SEP]. Segments are what BERT calls
// token types.
struct Frame {
    struct Part {
        int text = -1;             // 0: the first, 1: the second; -1: these tokens
        std::vector<Token> tokens; // where text is -1
        int segment = 0;
    };
    std::vector<Part> one{{0, {}, 0}};
    std::vector<Part> two{{0, {}, 0}, {1, {}, 1}};

    // The tokens before the first text of one, such as a beginning; and those after it.
    std::vector<Token> before() const;
    std::vector<Token> after() const;
};

class Tokenizer {
public:
    virtual ~Tokenizer() = default;

    virtual int vocab_size() const = 0;
    // Appends the tokens of text to out, with nothing around them. With special, the text of a special token becomes
    // that token; without, it is ordinary text. O(n log n) in the length of text whatever it holds. Throws
    // Error(limit) for 2 GiB and more.
    virtual void encode(std::string_view text, bool special, std::vector<Token>& out) const = 0;
    virtual const Frame& frame() const = 0;
    // Appends the bytes of one token to out: they may begin or end inside a UTF-8 sequence, and those of a special
    // token are its name. first: no text stands before it, so that a space which only marks the beginning of a word
    // is left out. Throws Error(limit) for an id out of range.
    virtual void append(Token token, std::string& out, bool first = false) const = 0;
    // The most bytes that one token has.
    virtual std::size_t longest() const = 0;
    // The token of that spelling, as in the file: <s>, [MASK]; -1 if there is none.
    virtual Token find(std::string_view spelling) const = 0;
    virtual bool is_special(Token token) const = 0;
    // What its file has and the tokenizer ignores, a line each; each begins with the file's name.
    virtual const std::vector<std::string>& ignored() const = 0;
    // The same tokenizer as a tokenizer.json.
    virtual std::string to_json() const = 0;

    // The special token <|endoftext|>, which the tokenizers have that are made here; -1 if there is none.
    Token end_of_text() const {
        const Token token = find(end_of_text_name);
        return is_special(token) ? token : -1;
    }
};

// The tokens of a text in the tokenizer's frame, or of two; segments, if asked for, gets that of each token.
std::vector<Token> encode_framed(const Tokenizer& tokenizer, std::string_view text, bool special,
                                 std::vector<int>* segments = nullptr);
std::vector<Token> encode_framed(const Tokenizer& tokenizer, std::string_view text, std::string_view second,
                                 bool special, std::vector<int>* segments = nullptr);

// 257 entries: ids 0..255 are the bytes, 256 is <|endoftext|>. It is a BPE without merges.
std::unique_ptr<Tokenizer> make_byte_tokenizer();

// Reads a tokenizer.json; where names it in errors. A component that is not known is refused by name, never
// guessed; a key that is not known is ignored. Members for truncation and padding are kept and not followed: how long
// an input may be is the caller's to say. Throws Error(model).
std::unique_ptr<Tokenizer> tokenizer_from_json(std::string_view json, std::string_view where);

} // namespace ordo
