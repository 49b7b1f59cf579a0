// SPDX-License-Identifier: MIT
// Added tokens are searched in the text before anything else, such as <|endoftext|>. The leftmost match wins, then the
// longest, as in Hugging Face's library. As there, tokens marked "normalized" are searched only between matches of the
// unmarked ones, even where no normalizer changes the text.
#pragma once

#include "rows.h"
#include "text/normalizer.h"

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace ordo {

struct AddedToken {
    Token id = 0;
    std::string content;
    bool special = true;      // found only where special tokens are requested
    bool normalized = false;  // found after the other tokens, in the normalised text
    bool single_word = false; // found only where no word continues at either end
    bool lstrip = false;      // includes the white space before it
    bool rstrip = false;      // includes the white space after it
};

class AddedTokens {
public:
    // The reader refuses longer tokens. A byte of text costs the comparison of a few strings.
    static constexpr std::size_t max_length = 256;

    AddedTokens() = default;
    // Tokens marked normalized are searched in their normalised form. Throws Error(limit), which begins with where, if
    // the normalizer makes them too long.
    explicit AddedTokens(std::vector<AddedToken> tokens, const Normalizer& normalize = {},
                         const std::string& where = {});
    AddedTokens(AddedTokens&&) = default; // the sets point into the tokens, which a copy would not move
    AddedTokens& operator=(AddedTokens&&) = default;

    const std::vector<AddedToken>& all() const { return tokens_; } // by content
    const AddedToken* find(std::string_view content) const;

    // Calls on_text or on_token for the successive parts of text; on_text gets non-empty parts only. Searches the
    // tokens marked normalized, or the others.
    void split(std::string_view text, bool special, bool normalized,
               const std::function<void(std::string_view)>& on_text, const std::function<void(Token)>& on_token) const;

private:
    // Tokens that are searched together, sorted by text. The search is binary. Let t be the last token that is not
    // after the text: all tokens that are prefixes of the text are t or prefixes of t. They form a chain. Each token
    // has a link to the next in the chain and one further on, so that the longest of limited length is a few steps away
    // (Myers 1983, An applicative random-access stack).
    class Set {
    public:
        struct Sought {
            std::string_view text;
            const AddedToken* token;
        };
        explicit Set(std::vector<Sought> tokens);
        // The longest token at the start of a non-empty text; an entry without a token if there is none.
        struct Entry {
            std::string_view text;
            const AddedToken* token = nullptr;
            std::uint32_t shorter = 0, far = 0; // links to shorter entries of the chain, which ends at entry 0
            std::uint32_t depth = 0;            // single steps to entry 0
        };
        const Entry& longest_at(std::string_view text) const;

    private:
        std::uint32_t shorter_of(std::string_view text) const;

        std::vector<Entry> entries_{{}}; // the first is empty, a prefix of every other
        std::size_t longest_ = 0;
        std::array<bool, 256> starts_{}; // first bytes of the tokens
    };

    std::vector<AddedToken> tokens_;
    std::vector<std::string> normalized_; // normalised texts of the tokens marked normalized, in their order
    std::vector<Set> sets_;               // ordinary; ordinary and special; then the same for normalized ones
};

} // namespace ordo
