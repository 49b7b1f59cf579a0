// SPDX-License-Identifier: MIT
// Tokens that are looked for in the text before anything else, such as <|endoftext|>. The leftmost
// wins, then the longest, as in Hugging Face's library. There, tokens marked "normalized" are looked
// for only between those that are not, even where no normalizer changes the text; so it is here.
#pragma once

#include "ordo.h"
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
    bool special = true;      // found only where special tokens are asked for
    bool normalized = false;  // found after those that are not, in text that the normalizer has changed
    bool single_word = false; // found only where no word goes on at either end
    bool lstrip = false;      // takes the white space before it along
    bool rstrip = false;      // and behind it
};

class AddedTokens {
public:
    // Longer ones are refused by the reader: a byte of text costs the comparison of a few strings.
    static constexpr std::size_t max_length = 256;

    AddedTokens() = default;
    // Those marked normalized are looked for as the normalizer leaves them. Throws Error(limit), with where before it,
    // if it makes too much of them.
    explicit AddedTokens(std::vector<AddedToken> tokens, const Normalizer& normalize = {},
                         const std::string& where = {});
    AddedTokens(AddedTokens&&) = default; // the sets point into the tokens, which a copy would leave behind
    AddedTokens& operator=(AddedTokens&&) = default;

    const std::vector<AddedToken>& all() const { return tokens_; } // by content
    const AddedToken* find(std::string_view content) const;

    // Calls on_text or on_token for the successive parts of text; on_text never gets an empty one. Looked for are
    // those marked normalized, or the others.
    void split(std::string_view text, bool special, bool normalized,
               const std::function<void(std::string_view)>& on_text, const std::function<void(Token)>& on_token) const;

private:
    // Tokens that are looked for at once, in the order of the texts that are looked for. The search is binary: with t
    // the last that is not behind the text, those with which the text begins are t itself and beginnings of it. They
    // form a chain; each knows the next of it and one further on, so that the longest of at most so many bytes is a few
    // steps away (Myers 1983, An applicative random-access stack).
    class Set {
    public:
        struct Sought {
            std::string_view text;
            const AddedToken* token;
        };
        explicit Set(std::vector<Sought> tokens);
        // The longest with which a text that is not empty begins; none if it has no text.
        struct Entry {
            std::string_view text;
            const AddedToken* token = nullptr;
            std::uint32_t shorter = 0, far = 0; // of the chain, ever shorter, to entry 0
            std::uint32_t depth = 0;            // steps of one to there
        };
        const Entry& longest_at(std::string_view text) const;

    private:
        std::uint32_t shorter_of(std::string_view text) const;

        std::vector<Entry> entries_{{}}; // the first is empty and begins every other
        std::size_t longest_ = 0;
        std::array<bool, 256> starts_{}; // bytes that some token begins with
    };

    std::vector<AddedToken> tokens_;
    std::vector<std::string> normalized_; // the texts of those marked so, in their order
    std::vector<Set> sets_;               // ordinary ones, special ones as well; the same of those marked normalized
};

} // namespace ordo
