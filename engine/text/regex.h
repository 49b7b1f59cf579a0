// SPDX-License-Identifier: MIT
// Regular expressions, run by PCRE2, which only regex.cpp includes. Each match has limits of steps, depth and memory,
// and each text an allowance. A search that exceeds them throws Error(limit).
#pragma once

#include "text/allowance.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

struct pcre2_real_code_8; // declared by PCRE2's own name, so that only the .cpp includes its header

namespace ordo {

class Regex {
public:
    // A pattern in PCRE2's syntax; where names it in errors. Throws Error(model) if it does not compile.
    Regex(std::string_view pattern, std::string_view where);

    // Calls found(begin, end) for the matches in a UTF-8 text, from left to right. Matches do not overlap, and an empty
    // one does not touch the one before.
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

// Translates a pattern of tokenizer.json, in Oniguruma's syntax for Ruby, to PCRE2's. \s is White_Space (PCRE2 adds
// U+180E), \w includes marks, \h is a hexadecimal digit, and a class may contain classes. Constructs without an
// equivalent (intersections of classes and a few more) are refused by name: Error(model).
std::string pattern_from_oniguruma(std::string_view pattern, std::string_view where);

// A pattern that matches exactly this text.
std::string quoted_pattern(std::string_view text);

} // namespace ordo
