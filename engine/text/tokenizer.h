// SPDX-License-Identifier: MIT
// Text to tokens and back, by the pipeline of a Hugging Face tokenizer.json:
//   added tokens > normalizer > added tokens > pre-tokenizer > model > post-processor, and back by a decoder.
// A Tokenizer is immutable: all methods are const and may run on many threads at once. Any bytes can be encoded. A
// byte-level BPE decodes to exactly these bytes; other tokenizers lose what their normalizers and vocabularies drop.
#pragma once

#include "rows.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ordo {

inline constexpr std::string_view end_of_text_name = "<|endoftext|>";

// The tokens around a text, or around and between two: [CLS] a [SEP] b [SEP]. Segments are BERT's token types.
struct Frame {
    struct Part {
        int text = -1;             // 0: the first, 1: the second; -1: the tokens below
        std::vector<Token> tokens; // if text is -1
        int segment = 0;
    };
    std::vector<Part> one{{0, {}, 0}};
    std::vector<Part> two{{0, {}, 0}, {1, {}, 1}};

    // The tokens before the first text of `one`, such as a beginning, and the tokens after it.
    std::vector<Token> before() const;
    std::vector<Token> after() const;
};

class Tokenizer {
public:
    virtual ~Tokenizer() = default;

    virtual int vocab_size() const = 0;
    // Appends the tokens of text to out, without a frame. With special, the text of a special token becomes that token;
    // without, it is ordinary text. O(n log n) in the length of any text. Throws Error(limit) for 2 GiB and more.
    virtual void encode(std::string_view text, bool special, std::vector<Token>& out) const = 0;
    virtual const Frame& frame() const = 0;
    // Appends the bytes of one token to out. They may begin or end inside a UTF-8 sequence. The bytes of a special
    // token are its name. first: the token begins the text, so a space that only marks the beginning of a word is
    // dropped. Throws Error(limit) for an id out of range.
    virtual void append(Token token, std::string& out, bool first = false) const = 0;
    // The maximum number of bytes of a token.
    virtual std::size_t longest() const = 0;
    // The token with that spelling in the file: <s>, [MASK]; -1 if there is none.
    virtual Token find(std::string_view spelling) const = 0;
    virtual bool is_special(Token token) const = 0;
    // A line for each part of the file that the tokenizer ignores; each begins with the file's name.
    virtual const std::vector<std::string>& ignored() const = 0;
    // The same tokenizer as a tokenizer.json.
    virtual std::string to_json() const = 0;

    // The special token <|endoftext|>, which Ordo's own tokenizers have; -1 if there is none.
    Token end_of_text() const {
        const Token token = find(end_of_text_name);
        return is_special(token) ? token : -1;
    }
};

// The tokens of a text, or of two, in the tokenizer's frame. segments, if given, gets the segment of each token.
std::vector<Token> encode_framed(const Tokenizer& tokenizer, std::string_view text, bool special,
                                 std::vector<int>* segments = nullptr);
std::vector<Token> encode_framed(const Tokenizer& tokenizer, std::string_view text, std::string_view second,
                                 bool special, std::vector<int>* segments = nullptr);

// 257 entries: ids 0..255 are the bytes, 256 is <|endoftext|>. It is a BPE without merges.
std::unique_ptr<Tokenizer> make_byte_tokenizer();

// Reads a tokenizer.json; where names it in errors. An unknown component is refused by name. An unknown key is ignored.
// Members for truncation and padding are kept but not applied: the caller chooses the length of an input. Throws
// Error(model).
std::unique_ptr<Tokenizer> tokenizer_from_json(std::string_view json, std::string_view where);

} // namespace ordo
