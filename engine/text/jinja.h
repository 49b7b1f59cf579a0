// SPDX-License-Identifier: MIT
// The subset of Jinja that chat templates use, with the settings of transformers: trim_blocks and lstrip_blocks. A text
// passes a lexer, a parser and an evaluator. Errors are Error(model) that begin with "line N: ". The parser refuses a
// tag outside of the subset by name; the evaluator refuses a filter, test, function or method when the text uses it.
#pragma once

#include "core/error.h"

#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ordo::jinja {

template <class... Parts>
[[noreturn]] void fail_at(int line, const Parts&... parts) {
    fail(ErrorCode::model, "line ", line, ": ", parts...);
}

// One level of a recursion. Throws Error above the limit.
class Deeper {
public:
    Deeper(int& depth, int line, int most = 400) : depth_(depth) {
        if (depth_ == most) fail_at(line, "expected at most ", most, " nested tags, brackets and calls, found more");
        ++depth_;
    }
    ~Deeper() { --depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;

private:
    int& depth_;
};

enum class LexemeKind { end, text, print, tag, close, name, string, integer, sign };
struct Lexeme {
    LexemeKind kind = LexemeKind::end;
    std::string_view text = {}; // of a string: with its quotes
    int line = 1;
};

class Lexer {
public:
    explicit Lexer(std::string_view text) : text_(text) {} // whose lines end with \n
    Lexeme next() { return tag_ == 0 ? next_outside() : next_inside(); }

private:
    Lexeme next_outside();
    Lexeme next_inside();
    Lexeme take(LexemeKind kind, std::size_t size);
    void skip_space();
    void end_tag(std::size_t size, bool trims_line, char sign);

    std::string_view text_;
    std::size_t at_ = 0;
    int line_ = 1;
    int brackets_ = 0;           // open in the tag
    char tag_ = 0;               // around at_: '{' or '%'; 0 outside of tags
    bool begins_line_ = true;    // at_ is the beginning of the text, or follows a line end that a tag dropped
    bool returned_text_ = false; // the text before the tag at at_
};

// clang-format off
enum class NodeKind {
    // expressions, with their operands in `parts`
    string, integer, constant, name, list, dict, attribute, subscript, slice, call, keyword, filter, test, negate,
    invert, both, either, binary, conditional,
    // statements, with their expressions in `parts`
    text, print, branches, branch, loop, set, set_block, macro, scope, stop, skip
};
// clang-format on
struct Node {
    NodeKind kind;
    int line;
    std::string text = {}; // a name, an operator or the value of a literal
    std::vector<Node> parts = {}, body = {}, otherwise = {};
    int height = 0; // of an expression
};
// The statements of a template. Throws Error for a text that is none, and above limits of size and nesting.
std::vector<Node> parse(std::string_view text);

using Record = std::vector<std::pair<std::string_view, std::string_view>>; // names and values
struct Input {
    std::vector<Record> messages;
    Record names; // further variables
    bool add_generation_prompt = false;
    std::time_t now = 0;
};
// The text that the template writes. Throws Error, also above limits of work and nesting, and Error(usage) with the
// words of raise_exception(), by which a template refuses its input.
std::string evaluate(const std::vector<Node>& statements, const Input& input);

} // namespace ordo::jinja
