// SPDX-License-Identifier: MIT
// Regular expressions. PCRE2 runs them (regex.cpp is its only door), with limits of steps, depth and memory for a match
// and an allowance for the text: a search that exceeds them is an Error(limit).
#pragma once

#include "text/allowance.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

struct pcre2_real_code_8; // PCRE2's own name, so that its header stays in the .cpp

namespace ordo {

class Regex {
public:
    // A pattern in PCRE2's syntax; where names it in errors. Throws Error(model) for one that does not compile.
    Regex(std::string_view pattern, std::string_view where);

    // Calls found(begin, end) for the matches in a text that is UTF-8, from left to right. They do not overlap, and
    // one that is empty does not touch the one before.
    void each(std::string_view text, Allowance& allowance,
              const std::function<void(std::size_t, std::size_t)>& found) const;

private:
    struct FreeCode {
        void operator()(pcre2_real_code_8* code) const;
    };
    std::string where_;
    std::unique_ptr<pcre2_real_code_8, FreeCode> code_; // read-only once compiled: shared by threads
};

inline constexpr std::size_t longest_pattern = std::size_t{1} << 16; // bytes

// A pattern as tokenizer.json has it, in Oniguruma's syntax for Ruby, in PCRE2's words: \s is White_Space (PCRE2
// adds U+180E), \w takes marks, \h is a hexadecimal digit, a class may hold classes. What has no equal there
// (intersections of classes and a few more) is refused by name: Error(model).
std::string pattern_from_oniguruma(std::string_view pattern, std::string_view where);

// A pattern that matches a text and nothing else.
std::string quoted_pattern(std::string_view text);

} // namespace ordo
