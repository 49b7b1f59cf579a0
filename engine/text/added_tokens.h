// SPDX-License-Identifier: MIT
// Tokens that are looked for in the text before anything else, such as <|endoftext|>. The leftmost
// wins, then the longest, as in Hugging Face's library. There, tokens marked "normalized" are looked
// for only between those that are not, even where no normalizer changes the text; so it is here.
#pragma once

#include "ordo.h"

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace ordo {

struct AddedToken {
    Token id = 0;
    std::string content;
    bool special = true;     // found only where special tokens are asked for
    bool normalized = false; // found after those that are not
};

class AddedTokens {
public:
    // Longer ones are refused by the reader: finding costs at most this many steps a byte.
    static constexpr std::size_t max_length = 256;

    AddedTokens() = default;
    explicit AddedTokens(std::vector<AddedToken> tokens);

    const std::vector<AddedToken>& all() const { return tokens_; } // by content
    const AddedToken* find(std::string_view content) const;

    // Calls on_text or on_token for the successive parts of text; on_text never gets an empty one.
    void split(std::string_view text, bool special, const std::function<void(std::string_view)>& on_text,
               const std::function<void(Token)>& on_token) const;

private:
    const AddedToken* longest_at(std::string_view text, bool special, bool normalized) const;
    void split_pass(std::string_view text, bool special, bool normalized,
                    const std::function<void(std::string_view)>& on_text,
                    const std::function<void(Token)>& on_token) const;

    std::vector<AddedToken> tokens_;
    std::array<bool, 256> starts_{}; // bytes that some token begins with
};

} // namespace ordo
