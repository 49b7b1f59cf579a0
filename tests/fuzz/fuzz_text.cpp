// SPDX-License-Identifier: MIT
// A tokenizer.json and a text, separated by a byte 30. The result is an Error of one line, or a tokenizer that encodes
// the text and decodes it again, within the limits for a text.
#include "text/tokenizer.h"

#include <algorithm>
#include <cstdlib>

namespace {

using namespace ordo;

void require(bool holds) {
    if (!holds) std::abort();
}

void require_one_line(const Error& error) {
    const std::string_view text = error.what();
    require(error.code == ErrorCode::model || error.code == ErrorCode::limit);
    require(text.size() < 1000 && text.find('\n') == text.npos);
}

std::vector<Token> encode(const Tokenizer& tokenizer, std::string_view text, bool special) {
    std::vector<Token> tokens = encode_framed(tokenizer, text, special);
    require(tokens.size() <= 33 * text.size() + (1 << 17));
    for (const Token token : tokens) require(token >= 0 && token < tokenizer.vocab_size());
    return tokens;
}

void try_text(const Tokenizer& tokenizer, std::string_view text) {
    for (const bool special : {false, true}) try {
            const std::vector<Token> tokens = encode(tokenizer, text, special);
            std::string decoded;
            for (const Token token : tokens) {
                const std::size_t before = decoded.size();
                tokenizer.append(token, decoded, decoded.empty());
                require(decoded.size() - before <= tokenizer.longest());
            }
            encode(tokenizer, decoded, special);
        } catch (const Error& error) {
            require_one_line(error);
        }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view all(reinterpret_cast<const char*>(data), size);
    const std::string_view json = all.substr(0, all.find(char{30}));
    try {
        const auto tokenizer = tokenizer_from_json(json, "fuzz");
        try_text(*tokenizer, all.substr(std::min(all.size(), json.size() + 1)));
    } catch (const Error& error) {
        require_one_line(error);
    }
    return 0;
}
