// SPDX-License-Identifier: MIT
#include "io/json_writer.h"
#include "text/jinja.h"
#include "text/unicode.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace ordo::jinja {
namespace {

// An argument's text; without a data pointer if it is absent or none.
std::string_view given_text(State& state, const Value& value) {
    return as<None>(value) || is_absent(value) ? std::string_view() : text_of(state, value);
}

// ---- Texts -------------------------------------------------------------------------------------------

template <bool left, bool right>
Value strip(State& state, const List& v) {
    std::string_view text = text_of(state, v[0]);
    const std::string_view chars = given_text(state, v[1]);
    const auto drops = [&](const unicode::Char& c, std::size_t at) {
        if (chars.data() != nullptr) return chars.find(text.substr(at, c.length)) != chars.npos;
        return unicode::is_white_space(c.point) || (c.point >= 0x1c && c.point <= 0x1f); // as in Python
    };
    while (left && !text.empty() && drops(unicode::first_char(text), 0))
        text.remove_prefix(unicode::first_char(text).length);
    while (right && !text.empty() && drops(unicode::last_char(text), text.size() - unicode::last_char(text).length))
        text.remove_suffix(unicode::last_char(text).length);
    return text;
}

enum class Case { lower, upper, sentence, title };
// Upper case is ASCII's.
template <Case mode>
Value in_case(State& state, const List& v) {
    const std::string_view text = text_of(state, v[0]);
    std::string out;
    for (std::size_t at = 0, size = 0; at < text.size(); at += size) {
        const unicode::Char c = unicode::first_char(text.substr(at));
        const bool begins = at == 0 || (mode == Case::title && std::string_view(" \t\n\r-({[<").find(text[at - 1]) < 9);
        const bool raised = mode == Case::upper || (mode != Case::lower && begins);
        size = c.length;
        if (raised && c.point >= 0x80) state.refuse("upper case of '", text.substr(at, size), "' is not supported");
        if (raised)
            out += c.point >= 'a' && c.point <= 'z' ? static_cast<char>(c.point - 'a' + 'A') : text[at];
        else if (c.point == unicode::replacement)
            out += text.substr(at, size);
        else
            unicode::append_lower(c.point, out);
    }
    return state.text(std::move(out));
}

Value split(State& state, const List& v) {
    std::string_view text = text_of(state, v[0]);
    const std::string_view by = given_text(state, v[1]);
    if (by.empty()) state.refuse("split() without a text is not supported");
    state.spend(text.size() * (1 + by.size() / 16));
    List parts;
    for (std::size_t end = 0; end != text.npos;) {
        const bool ends = number_in(v[2]) == static_cast<std::int64_t>(parts.size());
        end = ends ? text.npos : text.find(by);
        state.spend(sizeof(Value));
        parts.emplace_back(text.substr(0, end));
        if (end != text.npos) text.remove_prefix(end + by.size());
    }
    return state.list(std::move(parts));
}

Value join(State& state, const List& v) {
    const std::string_view between = given_text(state, v[1]);
    std::string out;
    for (const Value& item : items_of(state, v[0])) {
        const std::string_view text = text_of(state, is_absent(v[2]) ? item : member_of(state, item, v[2]));
        state.spend(between.size() + text.size());
        out.append(text).append(between);
    }
    out.resize(out.size() - std::min(out.size(), between.size()));
    return state.text(std::move(out));
}
Value replace(State& state, const List& v) {
    return join(state, {split(state, {text_of(state, v[0]), v[1], v[3]}), v[2], Undefined{}});
}

template <bool begin>
Value has_at(State& state, const List& v) {
    const std::string_view text = text_of(state, v[0]);
    const List all = as<const List*>(v[1]) ? items_of(state, v[1]) : List{v[1]};
    return std::any_of(all.begin(), all.end(), [&](const Value& each) {
        state.spend(text_of(state, each).size());
        return begin ? text.starts_with(text_of(state, each)) : text.ends_with(text_of(state, each));
    });
}

void write_json(State& state, const Value& value, std::string& out) {
    const Deeper deeper(state.depth, state.line);
    const Dict* const dict = dict_in(value);
    const auto* const text = as<std::string_view>(value);
    state.spend(16 + (text != nullptr ? 6 * text->size() : 0));
    if (text != nullptr) {
        out += json_quoted(*text);
    } else if (dict != nullptr || as<const List*>(value)) {
        std::string_view before = "";
        out += dict != nullptr ? '{' : '[';
        for (const Value& item : items_of(state, value)) {
            out += std::exchange(before, ", ");
            write_json(state, item, out);
            if (dict != nullptr) out += ": ";
            if (dict != nullptr) write_json(state, member_of(state, value, item), out);
        }
        out += dict != nullptr ? '}' : ']';
    } else if (as<Undefined>(value) || as<const Function*>(value)) {
        state.refuse("tojson of ", described(value), " is not supported");
    } else {
        out += as<None>(value) ? "null" : !as<bool>(value) ? text_of(state, value) : is_true(value) ? "true" : "false";
    }
}
Value tojson(State& state, const List& v) {
    if (is_true(v[1])) state.refuse("tojson(ensure_ascii=true) is not supported");
    std::string out;
    write_json(state, v[0], out);
    return state.text(std::move(out));
}

// ---- Lists and dictionaries --------------------------------------------------------------------------

template <std::int64_t place>
Value item(State& state, const List& v) {
    return member_of(state, state.list(items_of(state, v[0])), place);
}
template <bool keys, bool values>
Value members(State& state, const List& v) {
    if (dict_in(v[0]) == nullptr) state.refuse("expected a dictionary, found ", described(v[0]));
    List items;
    for (const auto& [key, member] : dict_in(v[0])->members)
        items.push_back(!keys ? member : values ? state.list({key, member}) : Value(key));
    return state.list(std::move(items));
}

// Calls the test or filter with a name and further arguments at these values.
Value called(State& state, std::string_view kind, const Value& of, const List& v, std::size_t name) {
    List values{of};
    for (std::size_t i = name + 1; i < v.size() && !is_absent(v[i]); ++i) values.push_back(v[i]);
    return call(state, kind, text_of(state, v[name]), std::vector<std::string>(values.size()), values);
}
// select, selectattr and their opposites: the items that pass a test, by themselves or by an attribute.
template <bool keeps, std::size_t name>
Value select(State& state, const List& v) {
    List items = items_of(state, v[0]);
    std::erase_if(items, [&](const Value& item) {
        const Value of = name == 2 ? member_of(state, item, v[1]) : item;
        return is_true(is_absent(v[name]) ? of : called(state, "test", of, v, name)) != keeps;
    });
    return state.list(std::move(items));
}
Value map(State& state, const List& v) {
    List items = items_of(state, v[0]);
    for (Value& item : items)
        item = is_absent(v[5]) ? called(state, "filter", item, v, 1) : member_of(state, item, v[5]);
    return state.list(std::move(items));
}

Value or_default(State&, const List& v) {
    const bool keeps = is_true(v[2]) ? is_true(v[0]) : !as<Undefined>(v[0]);
    return keeps ? v[0] : is_absent(v[1]) ? Value("") : v[1];
}
Value get(State& state, const List& v) {
    const Value found = member_of(state, v[0], v[1]);
    return !as<Undefined>(found) ? found : is_absent(v[2]) ? None{} : v[2];
}
Value to_number(State& state, const List& v) {
    const std::string_view text = text_of(state, v[0]);
    std::int64_t parsed = number_in(v[1]).value_or(0);
    std::from_chars(text.begin(), text.end(), parsed);
    return number_in(v[0]).value_or(parsed);
}

Value range(State& state, const List& v) {
    const bool one = is_absent(v[2]);
    const std::int64_t from = one ? 0 : number_in(v[1]).value_or(0), to = number_in(one ? v[1] : v[2]).value_or(0),
                       step = is_absent(v[3]) ? 1 : number_in(v[3]).value_or(0);
    if (step == 0) state.refuse("range: expected a step, found 0");
    List items;
    for (std::int64_t i = from; step > 0 ? i < to : i > to;) {
        state.spend(sizeof(Value));
        items.emplace_back(i);
        if (__builtin_add_overflow(i, step, &i)) break;
    }
    return state.list(std::move(items));
}
Value raise(State& state, const List& v) {
    fail(ErrorCode::usage, printable(text_of(state, v[1]), 200));
}
Value strftime_now(State& state, const List& v) {
    std::tm parts{};
    std::array<char, 256> date{};
    const std::string form(text_of(state, v[1]));
    const bool known = localtime_r(&state.now, &parts) != nullptr;
    return state.text({date.data(), known ? std::strftime(date.data(), date.size(), form.c_str(), &parts) : 0});
}

template <class T>
Value is(State&, const List& v) {
    return as<T>(v[0]) != nullptr;
}
Value is_list(State&, const List& v) {
    return as<std::string_view>(v[0]) || dict_in(v[0]) || as<Undefined>(v[0]) || as<const List*>(v[0]);
}
// The function of an operator.
auto by(std::string_view sign) {
    return [=](State& state, const List& v) { return operate(state, sign, v[0], v[1]); };
}

constexpr None none;
struct Builtin {
    std::string_view kinds, names;
    Function function;
};
const Builtin builtins[] = {
    {"filter, a string", "capitalize", {0, {}, in_case<Case::sentence>}},
    {"filter, a string", "lower", {0, {}, in_case<Case::lower>}},
    {"filter, a string", "upper", {0, {}, in_case<Case::upper>}},
    {"filter, a string", "title", {0, {}, in_case<Case::title>}},
    {"filter, a string", "replace", {2, {"old", "new", "count"}, replace}},
    {"filter, a string", "trim strip", {0, {"chars"}, strip<true, true>}},
    {"a string", "lstrip", {0, {"chars"}, strip<true, false>}},
    {"a string", "rstrip", {0, {"chars"}, strip<false, true>}},
    {"a string", "split", {0, {"sep", "maxsplit"}, split}},
    {"a string", "startswith", {1, {"prefix"}, has_at<true>}},
    {"a string", "endswith", {1, {"suffix"}, has_at<false>}},
    {"filter", "safe string", {0, {}, [](State& s, const List& v) { return text_of(s, v[0]); }}},
    {"filter", "int", {0, {"default"}, to_number}},
    {"filter", "tojson", {0, {"ensure_ascii"}, tojson}},
    {"filter", "d default", {0, {"default_value", "boolean"}, or_default}},
    {"filter", "first", {0, {}, item<0>}},
    {"filter", "last", {0, {}, item<-1>}},
    {"filter", "count length", {0, {}, [](State& s, const List& v) { return std::ssize(items_of(s, v[0])); }}},
    {"filter", "join", {0, {"d", "attribute"}, join}},
    {"filter", "list", {0, {}, [](State& s, const List& v) { return s.list(items_of(s, v[0])); }}},
    {"filter", "map", {0, {"name", "first", "second", "third", "attribute"}, map}},
    {"filter", "reject", {0, {"name", "value"}, select<false, 1>}},
    {"filter", "rejectattr", {1, {"attribute", "name", "value"}, select<false, 2>}},
    {"filter", "select", {0, {"name", "value"}, select<true, 1>}},
    {"filter", "selectattr", {1, {"attribute", "name", "value"}, select<true, 2>}},
    {"filter",
     "reverse",
     {0,
      {},
      [](State& s, const List& v) {
          return slice_of(s, List{v[0], none, none, -1});
      }}},
    {"filter, a dictionary", "items", {0, {}, members<true, true>}},
    {"a dictionary", "keys", {0, {}, members<true, false>}},
    {"a dictionary", "values", {0, {}, members<false, true>}},
    {"a dictionary", "get", {1, {"key", "default"}, get}},
    {"test", "== eq equalto", {1, {"other"}, by("==")}},
    {"test", "!= ne", {1, {"other"}, by("!=")}},
    {"test", "< lt", {1, {"other"}, by("<")}},
    {"test", "<= le", {1, {"other"}, by("<=")}},
    {"test", "> gt", {1, {"other"}, by(">")}},
    {"test", ">= ge", {1, {"other"}, by(">=")}},
    {"test", "in", {1, {"other"}, by("in")}},
    {"test", "boolean", {0, {}, is<bool>}},
    {"test", "callable", {0, {}, is<const Function*>}},
    {"test", "defined", {0, {}, [](State&, const List& v) { return !as<Undefined>(v[0]); }}},
    {"test", "even", {0, {}, [](State&, const List& v) { return number_in(v[0]).value_or(0) % 2 == 0; }}},
    {"test", "false", {0, {}, [](State&, const List& v) { return as<bool>(v[0]) && !is_true(v[0]); }}},
    {"test", "integer", {0, {}, is<std::int64_t>}},
    {"test", "iterable sequence", {0, {}, is_list}},
    {"test", "mapping", {0, {}, is<Dict*>}},
    {"test", "none", {0, {}, is<None>}},
    {"test", "number", {0, {}, [](State&, const List& v) { return number_in(v[0]).has_value(); }}},
    {"test", "odd", {0, {}, [](State&, const List& v) { return number_in(v[0]).value_or(0) % 2 != 0; }}},
    {"test", "string", {0, {}, is<std::string_view>}},
    {"test", "true", {0, {}, [](State&, const List& v) { return as<bool>(v[0]) && is_true(v[0]); }}},
    {"test", "undefined", {0, {}, is<Undefined>}},
    {"function", "range", {1, {"start", "stop", "step"}, range}},
    {"function", "raise_exception", {1, {"message"}, raise}},
    {"function", "strftime_now", {1, {"format"}, strftime_now}},
    {"function", "dict namespace", {any_arguments, {}, {}}},
};

} // namespace

const Function* builtin(std::string_view kind, std::string_view name) {
    const std::string sought = joined(" ", name, " ");
    for (const auto& [kinds, names, function] : builtins)
        if (kinds.find(kind) != kinds.npos && joined(" ", names, " ").find(sought) != sought.npos) return &function;
    return nullptr;
}

Value call(State& state, std::string_view kind, std::string_view name, const std::vector<std::string>& names,
           const List& values) {
    const auto* const own = kind == "function" ? as<const Function*>(values[0]) : nullptr;
    const Function* const function = own ? *own : builtin(kind == "method" ? described(values[0]) : kind, name);
    if (function == nullptr)
        state.refuse("the ", kind, " '", printable(name), "' is not supported",
                     kind == "function" ? "" : " for " + described(values[0]));
    const auto& [required, parameters, run] = *function;
    Dict* const all = required == any_arguments ? state.dict() : nullptr;
    List bound(1 + parameters.size(), Undefined{});
    bound[0] = values[0];
    for (std::size_t i = 1; i < values.size(); ++i) {
        const auto named = std::find(parameters.begin(), parameters.end(), names[i]);
        const std::size_t place = names[i].empty() ? i : static_cast<std::size_t>(named - parameters.begin()) + 1;
        if (names[i].empty() && place >= bound.size())
            state.refuse("expected at most ", parameters.size(), " arguments, found ", values.size() - 1);
        if (all != nullptr)
            all->set(names[i], values[i]);
        else if (place < bound.size())
            bound[place] = values[i];
        else
            state.refuse("the argument '", printable(names[i]), "' is not supported");
    }
    for (std::size_t i = 0; i < required && all == nullptr; ++i)
        if (is_absent(bound[i + 1])) state.refuse("expected an argument '", parameters[i], "', found none");
    if (all != nullptr) all->is_namespace = name == "namespace";
    return all != nullptr ? all : run(state, bound);
}

} // namespace ordo::jinja
