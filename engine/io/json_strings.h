// SPDX-License-Identifier: MIT
// Long strings of a JSON text, read beside its parser.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ordo {

// A file's header may hold a megabyte of tokenizer as one string, which nlohmann's parser reads byte by byte in 15 ns each. Long
// strings without anything difficult in them, control characters or other escapes than \" \\ \/ \b \f \n \r \t, are
// therefore left out of what it is given, as empty strings, and put back where it finds those. A text is in the grammar if and only if what is
// left of it is: of strings that are no such, the parser decides.
class LongStrings {
public:
    static constexpr std::size_t least = 256; // bytes

    explicit LongStrings(std::string_view text);
    std::string_view rest() const { return lifted_.empty() ? text_ : std::string_view(rest_); }
    // To be called for each string of rest(), names of members included, in their order: what was left out there.
    std::optional<std::string> next();
    // Where in the text a byte of rest() is.
    std::size_t original(std::size_t byte) const;

private:
    struct Lifted {
        std::size_t number;        // of the string in the text, from 0
        std::size_t first, length; // bytes of the text between its quotes
    };
    std::string_view text_;
    std::string rest_;
    std::vector<Lifted> lifted_;
    std::size_t seen_ = 0, given_ = 0; // strings of rest(), and of lifted_
};

} // namespace ordo
