// SPDX-License-Identifier: MIT
// The expressions of a chat template in Jinja, read but not run. In
// {{ '[INST] ' + message['content'] | trim + eos_token }} operands stand between literals.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ordo {

struct ChatPart {
    enum Kind { text, content, role, start, end, other } kind;
    std::string literal = {}; // of text; the operand of other, where it is alone
    bool trims = false;       // content
};

// The value of a literal from its opening quote on; text is left behind its closing one.
std::string take_literal(std::string_view& text);
// The literal that begins at a place, behind its quote, or nothing. No mark is as long as the limit, which bounds the
// time.
std::string literal_at(std::string_view text, std::size_t place);

std::vector<ChatPart> parts_of(std::string_view expression);

// Where the mark that ends an expression stands, "}}" or "%}", outside of literals; npos if it does not.
std::size_t end_of_expression(std::string_view text, std::size_t begin, std::string_view mark);

// Calls with the parts of each expression in {{ }}.
template <class Call>
void for_each_expression(std::string_view text, const Call& call) {
    for (std::size_t at = text.find("{{"); at < text.size(); at = text.find("{{", at)) {
        const std::size_t begin = at + 2;
        at = end_of_expression(text, begin, "}}");
        if (at >= text.size()) return;
        call(parts_of(text.substr(begin, at - begin)));
    }
}

} // namespace ordo
