// SPDX-License-Identifier: MIT
#include "text/chat_expressions.h"

#include "core/trimmed.h"

#include <algorithm>

namespace ordo {

// Takes a literal, including its quotes, from the start of text.
std::string take_literal(std::string_view& text) {
    const char quote = text.front();
    std::string literal;
    std::size_t at = 1;
    for (; at < text.size() && text[at] != quote; ++at) {
        if (text[at] == '\\' && at + 1 < text.size()) {
            const char next = text[++at];
            if (next != '\n') literal += next == 'n' ? '\n' : next == 't' ? '\t' : next; // as in Python's literals
        } else {
            literal += text[at];
        }
    }
    text.remove_prefix(std::min(at + 1, text.size()));
    return literal;
}

namespace {

// Takes the text before the next literal or operator.
std::string_view take_operand(std::string_view& text) {
    std::size_t at = 0;
    int depth = 0;
    char quote = 0;
    for (; at < text.size(); ++at) {
        const char c = text[at];
        if (quote != 0)
            quote = c == quote ? '\0' : quote;
        else if (c == '\'' || c == '"')
            quote = c;
        else if (c == '(' || c == '[')
            ++depth;
        else if (c == ')' || c == ']')
            --depth;
        else if (depth <= 0 && (c == '+' || c == '~'))
            break;
    }
    const std::string_view operand = trimmed(text.substr(0, at));
    text.remove_prefix(at);
    return operand;
}

ChatPart part_of(std::string_view operand) {
    std::string plain; // without white space, and with ['key'] for ["key"]
    for (const char c : operand)
        if (c != ' ' && c != '\n' && c != '\t') plain += c == '"' ? '\'' : c;
    bool trims = false;
    for (const std::string_view filter : {"|trim", ".strip()"})
        if (plain.ends_with(filter)) {
            plain.resize(plain.size() - filter.size());
            trims = true;
        }
    const auto names = [&](std::string_view key) {
        const std::string item = "['" + std::string(key) + "']";
        return plain == key || plain.ends_with(item) || plain.ends_with("." + std::string(key));
    };
    if (plain == "eos_token") return {ChatPart::end, {}};
    if (plain == "bos_token") return {ChatPart::start, {}};
    if (names("content")) return {ChatPart::content, {}, trims};
    return {!trims && names("role") ? ChatPart::role : ChatPart::other, plain};
}

} // namespace

std::vector<ChatPart> parts_of(std::string_view expression) {
    constexpr std::size_t most = 64; // so that the time grows with the template alone
    std::vector<ChatPart> parts;
    if (expression.starts_with('-')) expression.remove_prefix(1);
    if (expression.ends_with('-')) expression.remove_suffix(1);
    while (!(expression = trimmed(expression)).empty()) {
        if (parts.size() == most) {
            parts.push_back({ChatPart::other, {}});
            break;
        }
        const char first = expression.front();
        if (first == '+' || first == '~') {
            expression.remove_prefix(1);
        } else if (first == '\'' || first == '"') {
            parts.push_back({ChatPart::text, take_literal(expression)});
            if (!take_operand(expression).empty()) parts.push_back({ChatPart::other, {}}); // a filter or a method
        } else {
            parts.push_back(part_of(take_operand(expression)));
        }
    }
    return parts;
}

std::size_t end_of_expression(std::string_view text, std::size_t begin, std::string_view mark) {
    char quote = 0;
    for (std::size_t at = begin; at < text.size(); ++at) {
        if (quote != 0 && text[at] == '\\')
            ++at;
        else if (quote != 0)
            quote = text[at] == quote ? '\0' : quote;
        else if (text[at] == '\'' || text[at] == '"')
            quote = text[at];
        else if (text.substr(at, mark.size()) == mark)
            return at;
    }
    return text.npos;
}

std::string literal_at(std::string_view text, std::size_t place) {
    constexpr std::size_t limit = 256;
    if (place >= text.size() || place == 0 || (text[place - 1] != '\'' && text[place - 1] != '"')) return {};
    std::string_view rest = text.substr(place - 1, limit);
    return take_literal(rest);
}

} // namespace ordo
