// SPDX-License-Identifier: MIT
// GPT-2's first cut of a text into pieces that merges never cross:
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// Pieces follow one another without gaps. Each longest run of bytes that are not UTF-8 is a piece of
// its own, and the text on its two sides is cut as if it stood alone. Which characters are letters or
// numbers is PCRE2's to know (10.42: Unicode 14); one that it has never heard of is neither.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

struct pcre2_real_code_8; // PCRE2's own names, so that its header stays in the .cpp
struct pcre2_real_match_data_8;

namespace ordo {

class PreTokenizer {
public:
    PreTokenizer();

    // Walks over the pieces of one text; the PreTokenizer must outlive it.
    class Walk {
    public:
        Walk(const PreTokenizer& owner, std::string_view text);
        // The next piece; an empty one at the end.
        std::string_view next();

    private:
        struct FreeMatch {
            void operator()(pcre2_real_match_data_8* data) const;
        };
        const PreTokenizer& owner_;
        std::string_view text_;
        std::size_t at_ = 0;        // the next piece starts here
        std::size_t valid_end_ = 0; // text_[at_, valid_end_) is UTF-8
        std::size_t valid_begin_ = 0;
        std::unique_ptr<pcre2_real_match_data_8, FreeMatch> match_;
    };

private:
    struct FreeCode {
        void operator()(pcre2_real_code_8* code) const;
    };
    std::unique_ptr<pcre2_real_code_8, FreeCode> code_; // read-only once compiled: shared by threads
};

} // namespace ordo
