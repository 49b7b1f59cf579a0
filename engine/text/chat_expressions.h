// SPDX-License-Identifier: MIT
// The expressions of a chat template in Jinja, which are read but not run. In {{ '[INST] ' + message['content'] | trim
// + eos_token }} operands alternate with literals.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ordo {

struct ChatPart {
    enum Kind { text, content, role, start, end, other } kind;
    std::string literal = {}; // of text; the operand of other, if it is the only one
    bool trims = false;       // content
};

// Takes a literal, including its quotes, from the start of text, and returns its value.
std::string take_literal(std::string_view& text);
// The literal whose content begins at a place, after its quote; empty if there is none. Marks are shorter than its
// length limit, which bounds the time.
std::string literal_at(std::string_view text, std::size_t place);

// The operands and literals of an expression. After the 64th, one of the kind `other` stands for the rest.
std::vector<ChatPart> parts_of(std::string_view expression);

// The place of the mark that ends an expression, "}}" or "%}", outside of literals; npos if there is none.
std::size_t end_of_expression(std::string_view text, std::size_t begin, std::string_view mark);

// Calls call(parts) for each expression in {{ }}.
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
