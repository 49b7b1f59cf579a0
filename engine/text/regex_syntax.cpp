// SPDX-License-Identifier: MIT
// Translates Oniguruma's syntax to PCRE2's. See Oniguruma's doc/RE and pcre2pattern(3).
#include "core/error.h"
#include "text/regex.h"

#include <algorithm>

namespace ordo {
namespace {

// \w in a class is \w of Unicode Technical Standard 18 without joiners. Outside a class, Oniguruma uses an older table,
// which adds the superscripts and fractions of Latin-1.
constexpr std::string_view word = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})";
constexpr std::string_view lone_word = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\xb2\xb3\xb9\xbc-\xbe)";

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

class Translation {
public:
    Translation(std::string_view pattern, std::string_view where) : all_(pattern), rest_(pattern), where_(where) {}

    std::string run() {
        while (!rest_.empty()) step();
        return std::move(out_);
    }

private:
    [[noreturn]] void refuse(std::string_view what) const {
        fail(ErrorCode::model, where_, ": pattern '", printable(all_), "': ", what, " is not supported");
    }
    char take() {
        if (rest_.empty()) refuse("a pattern that is cut off");
        const char c = rest_.front();
        rest_.remove_prefix(1);
        return c;
    }
    bool take(std::string_view text) {
        if (!rest_.starts_with(text)) return false;
        rest_.remove_prefix(text.size());
        return true;
    }

    void step() {
        const char c = take();
        switch (c) {
        case '\\':
            return escape(false);
        case '[':
            return char_class();
        case '(':
            return group();
        case '{':
            return interval();
        default:
            out_ += c;
        }
    }

    // Called after the backslash.
    void escape(bool in_class) {
        const char c = take();
        const auto either = [&](std::string_view inside) {
            out_ += in_class ? std::string(inside) : "[" + std::string(inside) + "]";
        };
        switch (c) {
        case 's':
            out_ += R"(\p{White_Space})";
            return;
        case 'S':
            out_ += R"(\P{White_Space})";
            return;
        case 'd':
            out_ += R"(\p{Nd})";
            return;
        case 'D':
            out_ += R"(\P{Nd})";
            return;
        case 'w':
            return either(in_class ? word : lone_word);
        case 'h':
            return either("0-9A-Fa-f");
        case 'v':
            out_ += R"(\x0b)";
            return;
        case 'u':
            return code_point();
        case 'p':
        case 'P':
            return property(c);
        default:
            in_class ? escape_in_class(c) : escape_outside(c);
        }
    }

    void escape_in_class(char c) {
        if (is_letter(c) && std::string_view("abefnrtx").find(c) == std::string_view::npos)
            refuse("\\" + std::string(1, c) + " in a class");
        out_ += '\\';
        out_ += c;
    }

    void escape_outside(char c) {
        const std::string in(lone_word);
        if (c == 'k') {
            back_reference();
        } else if (c == 'W') {
            out_ += "[^" + in + "]";
        } else if (c == 'H') {
            out_ += "[^0-9A-Fa-f]";
        } else if (c == 'b') {
            out_ += "(?:(?<=[" + in + "])(?![" + in + "])|(?<![" + in + "])(?=[" + in + "]))";
        } else if (c == 'B') {
            out_ += "(?:(?<=[" + in + "])(?=[" + in + "])|(?<![" + in + "])(?![" + in + "]))";
        } else {
            if (is_letter(c) && std::string_view("AaefnrtXxZz").find(c) == std::string_view::npos)
                refuse("\\" + std::string(1, c));
            out_ += '\\';
            out_ += c;
        }
    }

    // \k<name>, \k<2> and \k<-1>, or with quotes. PCRE2 has names in the same syntax, and numbers as \g{2}. A level,
    // \k<name+0>, has no equivalent.
    void back_reference() {
        const char open = take();
        const std::size_t end = rest_.find(open == '<' ? '>' : '\'');
        const std::string_view name = rest_.substr(0, end);
        if ((open != '<' && open != '\'') || end == rest_.npos || name.find_first_of("+-", 1) != name.npos)
            refuse("\\k in this form");
        const bool numbered = !name.empty() && (is_digit(name.front()) || name.front() == '-');
        out_ += numbered ? "\\g{" + std::string(name) + "}" : "\\k{" + std::string(name) + "}";
        rest_.remove_prefix(end + 1);
    }

    // \uHHHH
    void code_point() {
        out_ += R"(\x{)";
        for (int i = 0; i < 4; ++i) {
            const char c = take();
            if (!is_digit(c) && !(c >= 'a' && c <= 'f') && !(c >= 'A' && c <= 'F')) refuse("\\u without four digits");
            out_ += c;
        }
        out_ += '}';
    }

    // \p{Name}, \p{^Name}: PCRE2 has the same syntax, and its errors name unknown properties.
    void property(char p) {
        const std::size_t end = rest_.find('}');
        if (!rest_.starts_with('{') || end == rest_.npos) refuse("\\p without {}");
        out_ += '\\';
        out_ += p;
        out_ += rest_.substr(0, end + 1);
        rest_.remove_prefix(end + 1);
    }

    // Called after the bracket. Nested classes are flattened: [a[bc]] is [abc].
    void char_class() {
        out_ += '[';
        if (take("^")) out_ += '^';
        if (take("]")) out_ += "\\]";
        members();
        out_ += ']';
    }

    void members() {
        int depth = 1; // of open brackets
        while (depth > 0) {
            if (rest_.starts_with("&&")) refuse("&& in a class");
            if (take("[:")) {
                posix_class();
                continue;
            }
            const char c = take();
            if (c == ']') {
                --depth;
            } else if (c == '[') {
                if (rest_.starts_with('^')) refuse("[^ in a class");
                ++depth;
            } else if (c == '\\') {
                escape(true);
            } else {
                out_ += c;
            }
        }
    }

    void posix_class() {
        static constexpr std::string_view known[][2] = {{"alpha", R"(\p{Alphabetic})"},
                                                        {"digit", R"(\p{Nd})"},
                                                        {"lower", R"(\p{Lowercase})"},
                                                        {"upper", R"(\p{Uppercase})"},
                                                        {"space", R"(\p{White_Space})"}};
        const std::string_view name = rest_.substr(0, rest_.find(":]"));
        const auto at = std::find_if(std::begin(known), std::end(known), [&](auto& entry) { return entry[0] == name; });
        if (at == std::end(known)) refuse("[:" + printable(name, 20) + ":]");
        rest_.remove_prefix(name.size());
        if (!take(":]")) refuse("a pattern that is cut off");
        out_ += (*at)[1];
    }

    // Called after the parenthesis. Ruby's option m is PCRE2's s. Options for the rest of a group have different scopes
    // in the two, except at the very start of the pattern.
    void group() {
        const bool at_start = out_.empty();
        out_ += '(';
        if (!take("?")) return;
        out_ += '?';
        while (!rest_.empty() && (is_letter(rest_.front()) || rest_.front() == '-')) {
            const char option = take();
            if (option != 'i' && option != 'x' && option != 'm' && option != '-') refuse("(?" + std::string(1, option));
            if (option == 'x') refuse("(?x");
            out_ += option == 'm' ? 's' : option;
            if (rest_.starts_with(')') && !at_start) refuse("an option in the midst of a pattern");
        }
        static constexpr std::string_view kinds[] = {":", "=", "!", ">", "<=", "<!", "<", ")"};
        const auto kind =
            std::find_if(std::begin(kinds), std::end(kinds), [&](auto k) { return rest_.starts_with(k); });
        if (kind == std::end(kinds)) refuse("(?" + printable(rest_.substr(0, 1)));
        out_ += *kind;
        rest_.remove_prefix(kind->size());
    }

    // {n}, {n,}, {n,m} and {,m} repeat. Any other brace is literal.
    void interval() {
        const std::size_t end = rest_.find('}');
        const std::string_view inside = rest_.substr(0, end);
        const bool repeats =
            end != rest_.npos && !inside.empty() && inside != "," &&
            std::all_of(inside.begin(), inside.end(), [](char c) { return is_digit(c) || c == ','; }) &&
            std::count(inside.begin(), inside.end(), ',') <= 1;
        if (!repeats) {
            out_ += "\\{";
            return;
        }
        rest_.remove_prefix(end + 1);
        if (rest_.starts_with('+')) refuse("{}+"); // a second quantifier in Oniguruma, possessive in PCRE2
        out_ += '{';
        if (inside.front() == ',') out_ += '0';
        out_ += inside;
        out_ += '}';
    }

    std::string_view all_, rest_, where_;
    std::string out_;
};

} // namespace

std::string pattern_from_oniguruma(std::string_view pattern, std::string_view where) {
    if (pattern.size() > longest_pattern)
        fail(ErrorCode::model, where, ": pattern: expected at most ", longest_pattern, " bytes, found ",
             pattern.size());
    return Translation(pattern, where).run();
}

std::string quoted_pattern(std::string_view text) {
    std::string pattern;
    for (const char c : text) {
        if (static_cast<unsigned char>(c) < 0x80 && !is_letter(c) && !is_digit(c)) pattern += '\\';
        pattern += c;
    }
    return pattern;
}

} // namespace ordo
