// SPDX-License-Identifier: MIT
// The subset of Jinja that chat templates use, with the settings of transformers: trim_blocks and lstrip_blocks. A
// lexer cuts a template, and a parser builds a function of each tag and expression. Values have Python's meaning;
// numbers are integers. Errors are Error(model) that begin with "line N: ". A tag outside of the subset is refused by
// name when the template is parsed; a filter, test, function or method is refused by name when the template uses it.
#pragma once

#include "core/error.h"

#include <cstdint>
#include <ctime>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <variant>

namespace ordo::jinja {

struct Undefined {
    std::string_view name = {}; // empty for an absent argument
};
struct None {};
struct Value;
using List = std::vector<Value>;
struct Dict;
struct Function;
struct Value
    : std::variant<Undefined, None, bool, std::int64_t, std::string_view, const List*, Dict*, const Function*> {
    using variant::variant;
};
struct Dict {
    std::vector<std::pair<std::string_view, Value>> members = {};
    bool is_namespace = false;

    Value* find(std::string_view name); // nullptr if absent
    void set(std::string_view name, const Value& value);
};
// The variables of the template, of one iteration of a loop, or of one call of a macro.
struct Scope {
    Scope* outer = nullptr;
    std::map<std::string_view, Value> names = {};
};
enum class Flow { on, stop, skip }; // stop ends a loop, skip one iteration

template <class... Parts>
[[noreturn]] void fail_at(int line, const Parts&... parts) {
    fail(ErrorCode::model, "line ", line, ": ", parts...);
}

// One evaluation. It owns the values, and limits the work.
class State {
public:
    explicit State(std::time_t time);
    template <class... Parts>
    [[noreturn]] void refuse(const Parts&... parts) const {
        fail_at(line, parts...);
    }
    void spend(std::size_t bytes); // that are written or searched, or as much time
    Value text(std::string made);
    Value list(List items);
    Dict* dict();
    Value variable(std::string_view name) const;
    Value inside(Scope* outer, const std::function<Value()>& run); // with a scope for the variables that it sets

    std::time_t now;
    std::string out = {};
    Scope root = {}, *scope = &root;
    Flow flow = Flow::on;
    int line = 0, depth = 0; // of the tag or expression that is evaluated

private:
    std::size_t left_ = std::size_t{1} << 27;
    std::deque<std::string> texts_ = {};
    std::deque<List> lists_ = {};
    std::deque<Dict> dicts_ = {};
};

// One level of a recursion. Throws Error above the limit.
struct Deeper {
    Deeper(int& depth, int line, int most = 400) : level(depth) {
        if (level == most) fail_at(line, "expected at most ", most, " nested tags, brackets and calls, found more");
        ++level;
    }
    Deeper(Deeper&&) = delete;
    ~Deeper() { --level; }

    int& level;
};

enum class LexemeKind { end, text, print, tag, close, name, string, integer, sign };
struct Lexeme {
    LexemeKind kind;
    std::string_view text; // of a string: with its quotes
    int line;
};
std::vector<Lexeme> lexemes_of(std::string_view text); // the last one is the end
std::string unquoted(const Lexeme& string);

// Code adds to the state's text, or computes a value.
using Code = std::shared_ptr<const std::function<Value(State& state)>>;
using Target = std::function<void(State& state, const Value& value)>; // sets variables
Value repeat(State& state, const List& items, const Target& target, const Code& body);
// Throws Error for a text that is no template, and above limits of size and nesting. Its lines end with \n.
Code parse(std::string_view text);

// ---- Values ----
template <class T>
const T* as(const Value& value) {
    return std::get_if<T>(&value);
}
inline Dict* dict_in(const Value& value) {
    return as<Dict*>(value) ? *as<Dict*>(value) : nullptr;
}
inline std::optional<std::int64_t> number_in(const Value& value) {
    if (as<bool>(value)) return *as<bool>(value) ? 1 : 0;
    return as<std::int64_t>(value) ? std::optional(*as<std::int64_t>(value)) : std::nullopt;
}
inline bool is_absent(const Value& argument) {
    return as<Undefined>(argument) && as<Undefined>(argument)->name.empty();
}
bool is_true(const Value& value);
std::string described(const Value& value);                  // for messages
std::string_view text_of(State& state, const Value& value); // as {{ value }} writes it
List items_of(State& state, const Value& value);            // as a loop sees them
Value member_of(State& state, const Value& of, const Value& key);
Value slice_of(State& state, const List& values); // of, from, to, step
Value operate(State& state, std::string_view sign, const Value& a, const Value& b);

// A macro, filter, test, method or function. The first value is the one that is filtered or tested, or whose method is
// called; the others belong to the parameters.
struct Function {
    std::size_t required; // of the parameters
    std::vector<std::string> parameters;
    std::function<Value(State& state, const List& values)> run;
};
inline constexpr std::size_t any_arguments = ~std::size_t{0}; // named ones, which make a dictionary
// kind: filter, test, function, or for a method its object as in described(). nullptr if there is none.
const Function* builtin(std::string_view kind, std::string_view name);
// kind: filter, test, method or function; a function is the first value. names: of the values, or empty.
Value call(State& state, std::string_view kind, std::string_view name, const std::vector<std::string>& names,
           const List& values);

} // namespace ordo::jinja
