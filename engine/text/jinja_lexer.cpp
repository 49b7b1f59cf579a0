// SPDX-License-Identifier: MIT
#include "text/jinja.h"

#include <algorithm>

namespace ordo::jinja {
namespace {

constexpr std::size_t most_lexemes = std::size_t{1} << 18;
constexpr std::string_view blank = " \t\n\r\v\f";

bool is_one_of(char c, std::string_view chars) {
    return chars.find(c) != chars.npos;
}

// The kind and size of the lexeme at the start of a text; size 0 if there is none.
std::pair<LexemeKind, std::size_t> lexeme_of(std::string_view text) {
    constexpr std::string_view word = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    const auto run = [&](std::string_view chars) { return std::min(text.find_first_not_of(chars), text.size()); };
    if (const std::size_t size = run(word.substr(0, 10))) return {LexemeKind::integer, size};
    if (const std::size_t size = run(word)) return {LexemeKind::name, size};
    if (is_one_of(text[0], "'\"")) {
        std::size_t end = 1;
        while (end < text.size() && text[end] != text[0]) end += text[end] == '\\' ? 2 : 1;
        return {LexemeKind::string, end < text.size() ? end + 1 : 0};
    }
    for (const std::string_view two : {"==", "!=", "<=", ">=", "//", "**"})
        if (text.starts_with(two)) return {LexemeKind::sign, 2};
    return {LexemeKind::sign, is_one_of(text[0], "+-*/%~()[]{}<>=.:|,") ? 1 : 0};
}

struct Lexer {
    std::string_view rest; // of the template
    std::vector<Lexeme> lexemes = {};
    int line = 1;
    bool begins_line = true; // rest is the whole text, or follows a line end that a tag dropped

    std::string_view take(std::size_t size) {
        const std::string_view taken = rest.substr(0, size);
        line += static_cast<int>(std::count(taken.begin(), taken.end(), '\n'));
        rest.remove_prefix(size);
        return taken;
    }
    void skip_space() { take(std::min(rest.find_first_not_of(blank), rest.size())); }
    void add(LexemeKind kind, std::size_t size) {
        if (lexemes.size() == most_lexemes)
            fail_at(line, "expected at most ", most_lexemes, " parts of expressions and tags, found more");
        lexemes.push_back({kind, rest.substr(0, size), line});
        take(size);
    }

    // Takes the text before a tag or comment. Returns the mark that begins that, such as "{%-"; empty if there is none.
    std::string_view take_text() {
        std::size_t end = std::min(rest.find('{'), rest.size());
        while (end < rest.size() && rest.find_first_of("{%#", end + 1) != end + 1)
            end = std::min(rest.find('{', end + 1), rest.size());
        const std::string_view mark = rest.substr(end, 3);
        const int first_line = line;
        std::string_view text = take(end);
        const std::size_t last_line = text.rfind('\n') + 1, size = text.find_last_not_of(blank) + 1;
        if (mark.empty())
            text.remove_suffix(text.ends_with('\n') ? 1 : 0);
        else if (mark.ends_with('-'))
            text = text.substr(0, size);
        else if (!mark.ends_with('+') && mark[1] != '{' && size <= last_line && (last_line > 0 || begins_line))
            text = text.substr(0, last_line); // the tag is the first of its line
        if (!text.empty()) lexemes.push_back({LexemeKind::text, text, first_line});
        return mark;
    }

    // After a tag or comment: '-' drops the space that follows; a mark without a sign drops a line end.
    void trim(bool drops_line_end, char sign) {
        begins_line = drops_line_end && !is_one_of(sign, "+-") && rest.starts_with('\n');
        if (begins_line) take(1);
        if (sign == '-') skip_space();
    }

    void take_comment() {
        const std::size_t end = rest.find("#}", 2);
        if (end == rest.npos) fail_at(line, "expected the end of a comment, found none");
        trim(true, take(end + 2)[end - 1]);
    }

    void take_tag(std::string_view mark) {
        const bool print = mark[1] == '{';
        add(print ? LexemeKind::print : LexemeKind::tag, mark.size() == 3 && is_one_of(mark[2], "+-") ? 3 : 2);
        int brackets = 0; // that are open
        for (skip_space(); !rest.empty(); skip_space()) {
            const char first = rest[0];
            const bool signs = first == '-' || (first == '+' && !print);
            if (brackets == 0 && rest.substr(signs).starts_with(print ? "}}" : "%}")) {
                add(LexemeKind::close, signs ? 3 : 2);
                return trim(!print, first);
            }
            const auto [kind, size] = lexeme_of(rest);
            if (size == 0) fail_at(line, "expected an expression, found '", printable(rest, 20), "'");
            if (kind == LexemeKind::sign)
                brackets += is_one_of(first, "([{") ? 1 : brackets > 0 && is_one_of(first, ")]}") ? -1 : 0;
            add(kind, size);
        }
    }
};

} // namespace

std::vector<Lexeme> lexemes_of(std::string_view text) {
    Lexer lexer{text};
    for (std::string_view mark = lexer.take_text(); !mark.empty(); mark = lexer.take_text())
        mark[1] == '#' ? lexer.take_comment() : lexer.take_tag(mark);
    lexer.lexemes.push_back({LexemeKind::end, {}, lexer.line});
    return std::move(lexer.lexemes);
}

// As in Python. An unknown escape stands for itself.
std::string unquoted(const Lexeme& string) {
    constexpr std::string_view escapes = "n\nt\tr\rb\bf\fv\va\a\\\\''\"\"", numbered = "xuUN01234567";
    std::string value;
    for (std::size_t at = 1; at + 1 < string.text.size(); ++at) {
        const char c = string.text[at] == '\\' ? string.text[++at] : '\0';
        const std::size_t place = escapes.find(c);
        if (c != '\0' && numbered.find(c) != numbered.npos)
            fail_at(string.line, "the escape '\\", c, "' is not supported");
        if (c == '\0' || (place != escapes.npos && c != '\n'))
            value += c == '\0' ? string.text[at] : escapes[place | 1];
        else if (c != '\n') // a line end after a backslash is dropped
            value.append({'\\', c});
    }
    return value;
}

} // namespace ordo::jinja
