// SPDX-License-Identifier: MIT
#include "text/jinja.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <system_error>

namespace ordo::jinja {
namespace {

constexpr int most_operators = 500; // of one tag
constexpr int most_nesting = 100;   // of tags and brackets

template <class Run>
Code code(int line, const Run& run) {
    return std::make_shared<const std::function<Value(State&)>>([=](State& state) {
        const Deeper deeper(state.depth, line);
        const int before = std::exchange(state.line, line);
        state.spend(32);
        Value result = None{};
        if constexpr (std::is_void_v<std::invoke_result_t<Run, State&>>)
            run(state);
        else
            result = run(state);
        state.line = before;
        return result;
    });
}
Code constant(int line, const std::string& text) {
    return code(line, [=](State&) { return std::string_view(text); });
}
Code print(int line, const Code& value) {
    return code(line, [=](State& state) {
        const std::string_view text = text_of(state, (*value)(state));
        state.spend(text.size());
        state.out += text;
    });
}

// The text that a body writes.
Code written(int line, const Code& body) {
    return code(line, [=](State& state) {
        std::string before = std::exchange(state.out, {});
        state.inside(state.scope, [&] { return (*body)(state); });
        return state.text(std::exchange(state.out, std::move(before)));
    });
}

class Parser {
public:
    explicit Parser(std::string_view text) : lexemes_(lexemes_of(text)) {}

    // Up to a tag with one of these names, whose name is taken and kept in tag_; without, up to the end of the text.
    Code body(std::initializer_list<std::string_view> ends = {}) {
        const Deeper deeper(depth_, next().line, most_nesting);
        if (ends.size() > 0) close();
        std::vector<Code> all;
        const int line = next().line;
        for (;;) {
            const Lexeme first = next();
            operators_ = 0;
            if (first.kind == LexemeKind::end && ends.size() == 0) break;
            if (first.kind == LexemeKind::end) expected(*(ends.end() - 1));
            ++at_;
            if (first.kind == LexemeKind::text) {
                all.push_back(print(first.line, constant(first.line, std::string(first.text))));
                continue;
            }
            if (first.kind == LexemeKind::tag) tag_ = need(LexemeKind::name, "the name of a tag").text;
            if (first.kind == LexemeKind::tag && std::find(ends.begin(), ends.end(), tag_) != ends.end()) break;
            all.push_back(first.kind == LexemeKind::tag ? statement(first.line) : print(first.line, expressions()));
            close();
        }
        return code(line, [=](State& state) {
            for (auto each = all.begin(); each != all.end() && state.flow == Flow::on; ++each) (**each)(state);
        });
    }

private:
    // ---- Lexemes ----
    const Lexeme& next(std::size_t ahead = 0) const { return lexemes_[std::min(at_ + ahead, lexemes_.size() - 1)]; }
    bool is(std::string_view text, std::size_t ahead = 0) const { return next(ahead).text == text; }
    bool take(std::string_view text) {
        const bool taken = is(text);
        at_ += taken ? 1 : 0;
        return taken;
    }
    [[noreturn]] void expected(std::string_view thing) const {
        fail_at(next().line, "expected ", thing, ", found ",
                next().kind == LexemeKind::end ? "the end" : "'" + printable(next().text, 40) + "'");
    }
    const Lexeme& need(LexemeKind kind, std::string_view thing) {
        if (next().kind != kind) expected(thing);
        return lexemes_[at_++];
    }
    void need(std::string_view text) {
        if (!take(text)) expected(text);
    }
    std::string need_name() { return std::string(need(LexemeKind::name, "a name").text); }
    void close() { need(LexemeKind::close, "the end of a tag"); }

    // ---- Statements: a tag and its body, up to the name of the tag that ends it ----
    Code statement(int line) {
        if (tag_ == "if") return branches(line);
        if (tag_ == "for") return loop(line);
        if (tag_ == "set") return set(line);
        if (tag_ == "macro") return macro(line);
        if (tag_ == "generation") return print(line, written(line, body({"endgeneration"})));
        if (tag_ != "break" && tag_ != "continue") fail_at(line, "the tag '", printable(tag_), "' is not supported");
        return code(line, [flow = tag_ == "break" ? Flow::stop : Flow::skip](State& state) { state.flow = flow; });
    }

    Code branches(int line) {
        std::vector<std::pair<Code, Code>> all; // conditions and bodies; else has no condition
        do {
            const Code condition = tag_ == "else" ? nullptr : expressions();
            all.emplace_back(condition, condition ? body({"elif", "else", "endif"}) : body({"endif"}));
        } while (tag_ != "endif");
        return code(line, [=](State& state) -> Value {
            for (const auto& [condition, inner] : all)
                if (!condition || is_true((*condition)(state))) return (*inner)(state);
            return None{};
        });
    }

    Code loop(int line) {
        const Target target = targets();
        need("in");
        const Code list = binary(0), condition = take("if") ? expression() : nullptr;
        const Code inner = body({"else", "endfor"}), otherwise = tag_ == "else" ? body({"endfor"}) : nullptr;
        return code(line, [=](State& state) {
            List items = items_of(state, (*list)(state));
            const auto fails = [&](const Value& item) {
                return !is_true(state.inside(state.scope, [&] {
                    target(state, item);
                    return (*condition)(state);
                }));
            };
            if (condition) std::erase_if(items, fails);
            return items.empty() && otherwise ? (*otherwise)(state) : repeat(state, items, target, inner);
        });
    }

    Code set(int line) {
        const Target target = targets();
        const Code value = take("=") ? expressions() : written(line, body({"endset"}));
        return code(line, [=](State& state) { target(state, (*value)(state)); });
    }

    // A name, names, or a member of a namespace.
    Target targets() {
        const bool bracket = take("(");
        std::vector<std::string> names{need_name()};
        if (take("."))
            return [object = names[0], name = need_name()](State& state, const Value& value) {
                const Value of = state.variable(object);
                Dict* const dict = dict_in(of);
                if (dict == nullptr || !dict->is_namespace) state.refuse("expected a namespace, found ", described(of));
                state.spend(64);
                dict->set(name, value);
            };
        const bool many = bracket || is(",");
        while (take(",")) names.push_back(need_name());
        if (bracket) need(")");
        return [=](State& state, const Value& value) {
            const List items = many ? items_of(state, value) : List{value};
            if (items.size() != names.size()) state.refuse("expected ", names.size(), " values, found ", items.size());
            state.spend(64 * items.size());
            for (std::size_t i = 0; i < items.size(); ++i) state.scope->names[names[i]] = items[i];
        };
    }

    Code macro(int line) {
        const std::string name = need_name();
        const auto function = std::make_shared<Function>();
        std::vector<std::pair<std::string, Code>> parameters; // with their defaults
        need("(");
        while (!take(")")) {
            const std::string parameter = need_name();
            parameters.emplace_back(parameter, take("=") ? expression() : nullptr);
            function->parameters.push_back(parameter);
            if (!is(")")) need(",");
        }
        function->run = [parameters, text = written(line, body({"endmacro"}))](State& state, const List& values) {
            return state.inside(&state.root, [&] {
                for (std::size_t i = 0; i < parameters.size(); ++i) {
                    const auto& [parameter, other] = parameters[i];
                    Value& value = state.scope->names[parameter] = values[i + 1];
                    if (is_absent(value)) value = other ? (*other)(state) : Undefined{parameter};
                }
                return (*text)(state);
            });
        };
        return code(line, [=](State& state) { state.scope->names[name] = function.get(); });
    }

    // ---- Expressions ----
    template <class Run>
    Code operation(int line, const std::vector<Code>& operands, const Run& run) {
        if (++operators_ > most_operators)
            fail_at(line, "expected at most ", most_operators, " operators in turn, found more");
        return code(line, [=](State& state) {
            List values;
            for (const Code& each : operands) values.push_back((*each)(state));
            return run(state, values);
        });
    }
    Code list_of(const std::vector<Code>& all) {
        return operation(next().line, all, [](State& state, const List& values) { return state.list(values); });
    }

    Code expressions() { // a, b
        std::vector<Code> all{expression()};
        if (!is(",")) return all[0];
        while (take(","))
            if (next().kind != LexemeKind::close && !is(")")) all.push_back(expression());
        return list_of(all);
    }

    Code expression() {
        const Deeper deeper(depth_, next().line, most_nesting);
        Code value = binary(0);
        for (int line = next().line; take("if"); line = next().line) {
            const Code condition = binary(0), other = take("else") ? expression() : nullptr;
            value = operation(line, {condition}, [=](State& state, const List& values) -> Value {
                if (is_true(values[0])) return (*value)(state);
                return other ? (*other)(state) : Undefined{"the value without 'else'"};
            });
        }
        return value;
    }

    // By level, the binary operators from those that bind least.
    static constexpr std::string_view operators[] = {" or ",  " and ", "",           " == != < > <= >= in ",
                                                     " + - ", " ~ ",   " * / // % ", " ** "};
    static constexpr int level_not = 2, level_compare = 3, levels = 8;

    Code binary(int level) {
        if (level == levels) return filtered(is("-") ? prefixed() : postfix(primary()));
        if (level == level_not && is("not")) return prefixed();
        Code left = binary(level + 1);
        for (int count = 0;; ++count) {
            const bool inverts = level == level_compare && is("not") && is("in", 1) && take("not");
            const std::string sign(next().text.substr(0, 4));
            if (!is(sign) || operators[level].find(" " + sign + " ") == std::string_view::npos) return left;
            if (level == level_compare && count > 0) fail_at(next().line, "a chain of comparisons is not supported");
            const int line = lexemes_[at_++].line;
            const Code right = binary(level + 1);
            left = operation(line, {left}, [=](State& state, const List& values) {
                const Value& first = values[0];
                if (level < level_not) return is_true(first) == (sign == "and") ? (*right)(state) : first;
                return operate(state, inverts ? "not in" : sign, first, (*right)(state));
            });
        }
    }

    Code prefixed() { // not a, -a
        const Deeper deeper(depth_, next().line, most_nesting);
        const Lexeme sign = lexemes_[at_++];
        if (sign.text == "not") return inverted(sign.line, binary(level_not));
        const auto negate = [](State& state, const List& v) { return operate(state, "-", std::int64_t{0}, v[0]); };
        return operation(sign.line, {is("-") ? prefixed() : postfix(primary())}, negate);
    }
    Code inverted(int line, const Code& value) {
        return operation(line, {value}, [](State&, const List& values) { return !is_true(values[0]); });
    }

    Code primary() {
        const int line = next().line;
        if (is("[") || is("{")) return items();
        if (take("(")) {
            const Code inner = is(")") ? list_of({}) : expressions();
            need(")");
            return inner;
        }
        if (next().kind == LexemeKind::string) {
            std::string text;
            while (next().kind == LexemeKind::string) text += unquoted(lexemes_[at_++]);
            return constant(line, text);
        }
        if (next().kind == LexemeKind::integer) {
            const std::string_view digits = lexemes_[at_++].text;
            std::int64_t value = 0;
            if (std::from_chars(digits.begin(), digits.end(), value).ec != std::errc())
                fail_at(line, "expected a smaller number, found ", printable(digits));
            return code(line, [=](State&) { return value; });
        }
        const std::string name(need(LexemeKind::name, "a value").text);
        return code(line, [=](State& state) { return state.variable(name); });
    }

    Code items() { // [a, b] or {a: b}
        const bool dict = lexemes_[at_++].text == "{";
        std::vector<Code> all; // of a dictionary: keys and values by turns
        while (!take(dict ? "}" : "]")) {
            all.push_back(expression());
            if (dict) need(":");
            if (dict) all.push_back(expression());
            if (!is(dict ? "}" : "]")) need(",");
        }
        if (!dict) return list_of(all);
        return operation(next().line, all, [](State& state, const List& values) {
            Dict* const made = state.dict();
            for (std::size_t i = 0; i < values.size(); i += 2) made->set(text_of(state, values[i]), values[i + 1]);
            return made;
        });
    }

    Code postfix(Code value) {
        for (;;) {
            const int line = next().line;
            if (is("(")) {
                value = call_of(line, "function", lexemes_[at_ - 1].text, {value});
            } else if (take("[")) {
                value = subscript(line, value);
            } else if (!take(".")) {
                return value;
            } else if (next().kind == LexemeKind::integer) { // list.0
                value = operation(line, {value, primary()}, member_in);
            } else {
                const std::string name = need_name();
                value = is("(") ? call_of(line, "method", name, {value})
                                : operation(line, {value, constant(line, name)}, member_in);
            }
        }
    }
    static Value member_in(State& state, const List& values) { return member_of(state, values[0], values[1]); }

    // The rest of list[place] or list[from:to:step].
    Code subscript(int line, const Code& value) {
        const Code absent = code(line, [](State&) { return None{}; });
        std::vector<Code> parts{value};
        bool slices = false;
        do {
            parts.push_back(is(":") || (slices && is("]")) ? absent : expression());
            slices = slices || is(":");
        } while (parts.size() < 4 && take(":"));
        need("]");
        return operation(line, parts, slices ? slice_of : member_in);
    }

    // A call with the arguments in brackets; a test may have one without.
    Code call_of(int line, const std::string& kind, std::string_view function, std::vector<Code> operands) {
        const std::string name(function);
        const Function* const known = kind == "test" ? builtin(kind, name) : nullptr;
        std::vector<std::string> names{""};
        if (!is("(") && known != nullptr && known->required > 0) {
            names.push_back("");
            operands.push_back(postfix(primary()));
        }
        for (bool ended = !take("(") || take(")"); !ended; ended = take(")")) {
            const bool named = next().kind == LexemeKind::name && is("=", 1);
            names.push_back(named ? need_name() : "");
            if (named) need("=");
            operands.push_back(expression());
            if (!is(")")) need(",");
        }
        return operation(line, operands,
                         [=](State& state, const List& values) { return call(state, kind, name, names, values); });
    }

    // value | name(arguments) is not name(arguments)
    Code filtered(Code value) {
        while (is("|") || is("is")) {
            const Lexeme sign = lexemes_[at_++];
            const bool inverts = sign.text == "is" && take("not");
            value = call_of(sign.line, sign.text == "is" ? "test" : "filter", need_name(), {value});
            if (inverts) value = inverted(sign.line, value);
        }
        return value;
    }

    std::vector<Lexeme> lexemes_;
    std::size_t at_ = 0;
    std::string tag_; // the name of the last one
    int depth_ = 0, operators_ = 0;
};

} // namespace

Code parse(std::string_view text) {
    return Parser(text).body();
}

} // namespace ordo::jinja
