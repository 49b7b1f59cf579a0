// SPDX-License-Identifier: MIT
#include "text/jinja.h"

#include <algorithm>

namespace ordo::jinja {
namespace {

constexpr std::string_view blank = " \t\n\r\v\f";

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_one_of(char c, std::string_view chars) {
    return chars.find(c) != chars.npos;
}

// The kind and size of the lexeme at the start of a text; size 0 if there is none.
std::pair<LexemeKind, std::size_t> lexeme_of(std::string_view text) {
    std::size_t size = 1;
    if (is_letter(text[0]) || is_digit(text[0])) {
        const bool name = is_letter(text[0]);
        while (size < text.size() && (is_digit(text[size]) || (name && is_letter(text[size])))) ++size;
        return {name ? LexemeKind::name : LexemeKind::integer, size};
    }
    if (is_one_of(text[0], "'\"")) {
        while (size < text.size() && text[size] != text[0]) size += text[size] == '\\' ? 2 : 1;
        return {LexemeKind::string, size < text.size() ? size + 1 : 0};
    }
    for (const std::string_view two : {"==", "!=", "<=", ">=", "//", "**"})
        if (text.starts_with(two)) return {LexemeKind::sign, 2};
    return {LexemeKind::sign, is_one_of(text[0], "+-*/%~()[]{}<>=.:|,") ? 1 : 0};
}

} // namespace

Lexeme Lexer::take(LexemeKind kind, std::size_t size) {
    const Lexeme taken{kind, text_.substr(at_, size), line_};
    line_ += static_cast<int>(std::count(taken.text.begin(), taken.text.end(), '\n'));
    at_ += size;
    return taken;
}

void Lexer::skip_space() {
    take(LexemeKind::text, std::min(text_.find_first_not_of(blank, at_), text_.size()) - at_);
}

// Takes the mark that ends a tag or comment. '-' drops the space after it; a mark without a sign drops a line end.
void Lexer::end_tag(std::size_t size, bool trims_line, char sign) {
    take(LexemeKind::close, size);
    begins_line_ = trims_line && !is_one_of(sign, "+-") && text_.substr(at_).starts_with('\n');
    if (begins_line_) take(LexemeKind::text, 1);
    if (sign == '-') skip_space();
}

Lexeme Lexer::next_outside() {
    for (;;) {
        std::size_t begin = at_;
        while (begin < text_.size() &&
               (text_[begin] != '{' || begin + 1 == text_.size() || !is_one_of(text_[begin + 1], "{%#")))
            begin = std::min(text_.find('{', begin + 1), text_.size());
        const bool ends = begin == text_.size();
        const char mark = ends ? '\0' : text_[begin + 1], sign = begin + 2 < text_.size() ? text_[begin + 2] : '\0';
        if (!returned_text_) {
            Lexeme text = take(LexemeKind::text, begin - at_);
            const std::size_t line = text.text.rfind('\n') + 1, last = text.text.find_last_not_of(blank) + 1;
            if (ends && text.text.ends_with('\n')) text.text.remove_suffix(1);
            if (!ends && sign == '-') text.text = text.text.substr(0, last);
            if (!ends && sign != '-' && sign != '+' && mark != '{' && last <= line && (line > 0 || begins_line_))
                text.text = text.text.substr(0, line); // the tag is the first of its line
            returned_text_ = true;
            if (!text.text.empty()) return text;
        }
        returned_text_ = false;
        if (ends) return {LexemeKind::end, {}, line_};
        if (mark != '#') {
            tag_ = mark;
            brackets_ = 0;
            return take(tag_ == '{' ? LexemeKind::print : LexemeKind::tag, is_one_of(sign, "+-") ? 3 : 2);
        }
        const std::size_t end = text_.find("#}", begin + 2);
        if (end == text_.npos) fail_at(line_, "expected the end of a comment, found none");
        end_tag(end + 2 - begin, true, text_[end - 1]);
    }
}

Lexeme Lexer::next_inside() {
    skip_space();
    const std::string_view rest = text_.substr(at_), mark = tag_ == '{' ? "}}" : "%}";
    if (rest.empty()) fail_at(line_, "expected the end of a tag, found none");
    const bool signs = rest[0] == '-' || (rest[0] == '+' && tag_ == '%');
    if (brackets_ == 0 && rest.substr(signs ? 1 : 0).starts_with(mark)) {
        const Lexeme closed{LexemeKind::close, rest.substr(0, signs ? 3 : 2), line_};
        end_tag(closed.text.size(), tag_ == '%', rest[0]);
        tag_ = 0;
        return closed;
    }
    const auto [kind, size] = lexeme_of(rest);
    if (size == 0) fail_at(line_, "expected an expression, found '", printable(rest, 20), "'");
    if (kind == LexemeKind::sign) brackets_ += is_one_of(rest[0], "([{") ? 1 : is_one_of(rest[0], ")]}") ? -1 : 0;
    return take(kind, size);
}

} // namespace ordo::jinja
