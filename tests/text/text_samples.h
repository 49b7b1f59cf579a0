// SPDX-License-Identifier: MIT
// Texts that several tests of tokenizers use.
#pragma once

#include "text/tokenizer.h"

#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

namespace ordo::text_samples {

inline std::vector<Token> encode(const Tokenizer& tokenizer, std::string_view text, bool special = false) {
    std::vector<Token> ids;
    tokenizer.encode(text, special, ids);
    return ids;
}

inline std::string decode(const Tokenizer& tokenizer, const std::vector<Token>& ids) {
    std::string text;
    for (const Token id : ids) tokenizer.append(id, text);
    return text;
}

// Words, spaces, digits, contractions and other alphabets, in random order.
inline std::string random_text(std::uint64_t seed, int n_parts) {
    static const char* const parts[] = {
        "the",    " cat",       " sat",   "'s",    "'ll",  " ",         "  ",           "\n",
        "\t",     "42",         " 7",     "...",   " -- ", "caf\u00e9", "\u4f60\u597d", "\u00a0",
        "\u0301", "\U0001f600", " don't", "Hello", ",",    "\r\n",      "\u2028",       "x"};
    std::string text;
    for (int i = 0; i < n_parts; ++i) {
        seed = seed * 6364136223846793005u + 1442695040888963407u; // Knuth's MMIX
        text += parts[(seed >> 33) % std::size(parts)];
    }
    return text;
}

inline std::string random_bytes(std::uint64_t seed, int n) {
    std::string text;
    for (int i = 0; i < n; ++i) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        text += static_cast<char>(seed >> 56);
    }
    return text;
}

// Malformed UTF-8, and the limits of well-formed UTF-8 (family T4 of hostile inputs).
inline std::vector<std::string> hostile_texts() {
    using namespace std::string_literals;
    return {"",
            "\0"s,
            "a\0b\0\0c"s,
            "\xff\xfe\xfd",
            "caf\xc3",               // cut
            "\xe2\x82 \xe2\x82\xac", // cut, then whole
            "\xc0\x80 \xc0\xaf",     // overlong NUL and slash
            "\xe0\x80\xaf\xf0\x80\x80\xaf",
            "\xed\xa0\x80",             // a lone high surrogate
            "\xed\xb0\x80 x",           // a lone low one
            "\xed\xa0\xbd\xed\xb8\x80", // CESU-8
            "\xf4\x8f\xbf\xbf",         // U+10FFFF
            "\xf4\x90\x80\x80",         // one past it
            "\xf8\x88\x80\x80\x80",
            "\x80\x80 \x80word\xbf's",
            "  \xff  \xff\n\n\xff",
            "\ufeffbyte order mark",
            "<|endoftext|>",
            "<|endoftext|><|endoftext|",
            "a<|endoftext|>\xff<|endoftext|>"};
}

} // namespace ordo::text_samples
