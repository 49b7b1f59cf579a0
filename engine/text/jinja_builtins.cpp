// SPDX-License-Identifier: MIT
#include "text/jinja_values.h"
#include "text/unicode.h"

#include <algorithm>
#include <charconv>
#include <map>

namespace ordo::jinja {
namespace {

using Builtins = std::map<std::string_view, Value (*)(Work& work, const Value& value, Arguments& arguments)>;
constexpr std::size_t only_named = ~std::size_t{0}; // the place of an argument that has only a name

// A text argument; without a data pointer if it is absent or none.
std::string_view take_text(Work& work, Arguments& arguments, std::size_t place, std::string_view name = {}) {
    const Value* const given = arguments.take(place, name);
    return given == nullptr || as<None>(*given) ? std::string_view() : text_of(work, *given);
}
bool take_flag(Arguments& arguments, std::size_t place, std::string_view name) {
    const Value* const given = arguments.take(place, name);
    return given != nullptr && is_true(*given);
}

// ---- Texts -------------------------------------------------------------------------------------------

template <bool left, bool right>
Value strip(Work& work, const Value& value, Arguments& arguments) {
    std::string_view text = text_of(work, value);
    const std::string_view chars = take_text(work, arguments, 0, "chars");
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
Value in_case(Work& work, const Value& value, Arguments&) {
    const std::string_view text = text_of(work, value);
    std::string out;
    for (std::size_t at = 0, size = 0; at < text.size(); at += size) {
        const unicode::Char c = unicode::first_char(text.substr(at));
        const bool begins = mode == Case::title && at > 0 && std::string_view(" \t\n\r-({[<").find(text[at - 1]) < 9;
        const bool raised = mode == Case::upper || (mode != Case::lower && at == 0) || begins;
        size = c.length;
        if (raised && c.point >= 0x80) work.refuse("upper case of '", text.substr(at, size), "' is not supported");
        if (raised)
            out += c.point >= 'a' && c.point <= 'z' ? static_cast<char>(c.point - 'a' + 'A') : text[at];
        else if (c.point == unicode::replacement)
            out += text.substr(at, size);
        else
            unicode::append_lower(c.point, out);
    }
    return work.text(std::move(out));
}

Value split(Work& work, const Value& value, Arguments& arguments) {
    std::string_view text = text_of(work, value);
    const std::string_view by = take_text(work, arguments, 0, "sep");
    const Value* const most = arguments.take(1, "maxsplit");
    if (by.empty()) work.refuse("split() without a text is not supported");
    work.spend(text.size() * (1 + by.size() / 16));
    std::vector<Value> parts;
    for (std::size_t end = 0; end != text.npos;) {
        const bool ends = most != nullptr && number_in(*most) == static_cast<std::int64_t>(parts.size());
        end = ends ? text.npos : text.find(by);
        work.spend(sizeof(Value));
        parts.emplace_back(text.substr(0, end));
        if (end != text.npos) text.remove_prefix(end + by.size());
    }
    return work.list(std::move(parts));
}

Value join(Work& work, const Value& value, Arguments& arguments) {
    const std::string_view between = take_text(work, arguments, 0, "d");
    const Value* const name = arguments.take(1, "attribute");
    const std::vector<Value> items = items_of(work, value);
    std::string out;
    for (const Value& item : items) {
        const std::string_view text = text_of(work, name != nullptr ? member_of(work, item, *name) : item);
        work.spend(between.size() + text.size());
        out.append(&item == items.data() ? "" : between).append(text);
    }
    return work.text(std::move(out));
}

Value replace(Work& work, const Value& value, Arguments& arguments) {
    Arguments old, by;
    old.places = {take_text(work, arguments, 0, "old")};
    by.places = {take_text(work, arguments, 1, "new")};
    if (const Value* const count = arguments.take(2, "count")) old.places.push_back(*count);
    return join(work, split(work, text_of(work, value), old), by);
}

template <bool begin>
Value has_at(Work& work, const Value& value, Arguments& arguments) {
    const Value *const given = arguments.take(0), absent = None{};
    const Value& sought = given != nullptr ? *given : absent;
    const std::string_view text = text_of(work, value);
    std::vector<Value> all = as<const List*>(sought) ? items_of(work, sought) : std::vector{sought};
    return std::any_of(all.begin(), all.end(), [&](const Value& each) {
        work.spend(text_of(work, each).size());
        return begin ? text.starts_with(text_of(work, each)) : text.ends_with(text_of(work, each));
    });
}

void write_json(Work& work, const Value& value, std::string& out, int depth) {
    const Deeper deeper(depth, work.line);
    constexpr std::string_view digits = "0123456789abcdef", escapes = "\nn\rr\tt\bb\ff\\\\\"\"";
    const Dict* const dict = dict_in(value);
    const auto* const text = as<std::string_view>(value);
    work.spend(16 + (text != nullptr ? 6 * text->size() : 0));
    if (text != nullptr) {
        out += '"';
        for (const char c : *text) {
            const std::size_t place = escapes.find(c);
            const auto byte = static_cast<unsigned char>(c);
            if (place != escapes.npos && place % 2 == 0)
                out.append({'\\', escapes[place + 1]});
            else if (byte < 0x20)
                out.append("\\u00").append({digits[byte >> 4], digits[byte & 15]});
            else
                out += c;
        }
        out += '"';
    } else if (dict != nullptr || as<const List*>(value)) {
        out += dict != nullptr ? '{' : '[';
        const std::vector<Value> items = items_of(work, value);
        for (const Value& item : items) {
            if (&item != items.data()) out += ", ";
            write_json(work, item, out, depth);
            if (dict != nullptr) out += ": ";
            if (dict != nullptr) write_json(work, member_of(work, value, item), out, depth);
        }
        out += dict != nullptr ? '}' : ']';
    } else if (as<Undefined>(value) || as<Function>(value)) {
        work.refuse("tojson of ", described(value), " is not supported");
    } else {
        out += as<None>(value) ? "null" : !as<bool>(value) ? text_of(work, value) : is_true(value) ? "true" : "false";
    }
}
Value tojson(Work& work, const Value& value, Arguments& arguments) {
    if (take_flag(arguments, only_named, "ensure_ascii")) work.refuse("tojson(ensure_ascii=true) is not supported");
    std::string out;
    write_json(work, value, out, 0);
    return work.text(std::move(out));
}

// ---- Lists and dictionaries --------------------------------------------------------------------------

template <int place>
Value item(Work& work, const Value& value, Arguments&) {
    return member_of(work, work.list(items_of(work, value)), std::int64_t{place});
}
template <bool keys, bool values>
Value members(Work& work, const Value& value, Arguments&) {
    if (dict_in(value) == nullptr) work.refuse("expected a dictionary, found ", described(value));
    std::vector<Value> items;
    for (const auto& [key, member] : dict_in(value)->members)
        items.push_back(!keys ? member : values ? work.list({key, member}) : Value(key));
    return work.list(std::move(items));
}

// select, selectattr and their opposites: the items that pass a test, by themselves or by an attribute.
template <bool keeps, std::size_t place>
Value select(Work& work, const Value& value, Arguments& arguments) {
    const Value* const attribute = place > 0 ? arguments.take(0) : nullptr;
    const std::string_view name = take_text(work, arguments, place);
    const Arguments rest = arguments.take_from(place + 1);
    std::vector<Value> items = items_of(work, value);
    std::erase_if(items, [&](const Value& item) {
        Arguments others = rest;
        const Value tested = attribute != nullptr ? member_of(work, item, *attribute) : item;
        return (name.empty() ? is_true(tested) : test(work, name, tested, others)) != keeps;
    });
    return work.list(std::move(items));
}
Value map(Work& work, const Value& value, Arguments& arguments) {
    const Value* const attribute = arguments.take(only_named, "attribute");
    const std::string_view name = take_text(work, arguments, 0);
    const Arguments rest = arguments.take_from(1);
    std::vector<Value> items = items_of(work, value);
    for (Value& item : items) {
        Arguments others = rest;
        item = attribute != nullptr ? member_of(work, item, *attribute) : filter(work, name, item, others);
    }
    return work.list(std::move(items));
}

Value or_default(Work&, const Value& value, Arguments& arguments) {
    const Value* const other = arguments.take(0, "default_value");
    const bool keeps = take_flag(arguments, 1, "boolean") ? is_true(value) : !as<Undefined>(value);
    return keeps ? value : other != nullptr ? *other : Value("");
}
Value get(Work& work, const Value& value, Arguments& arguments) {
    const Value *const key = arguments.take(0), *const other = arguments.take(1);
    const Value found = member_of(work, value, key != nullptr ? *key : None{});
    return !as<Undefined>(found) ? found : other != nullptr ? *other : None{};
}
Value to_number(Work& work, const Value& value, Arguments& arguments) {
    const Value* const other = arguments.take(0, "default");
    const std::string_view text = text_of(work, value);
    std::int64_t parsed = other != nullptr ? number_in(*other).value_or(0) : 0;
    std::from_chars(text.data(), text.data() + text.size(), parsed);
    return number_in(value).value_or(parsed);
}

// clang-format off
const Builtins filters = {
    {"capitalize", in_case<Case::sentence>}, {"d", or_default}, {"default", or_default}, {"first", item<0>},
    {"int", to_number}, {"items", members<true, true>}, {"join", join}, {"last", item<-1>},
    {"lower", in_case<Case::lower>},
    {"map", map}, {"reject", select<false, 0>}, {"rejectattr", select<false, 1>}, {"replace", replace},
    {"select", select<true, 0>}, {"selectattr", select<true, 1>}, {"title", in_case<Case::title>}, {"tojson", tojson},
    {"trim", strip<true, true>}, {"upper", in_case<Case::upper>},
    {"count", [](Work& w, const Value& v, Arguments&) -> Value {
         return static_cast<std::int64_t>(items_of(w, v).size()); }},
    {"length", [](Work& w, const Value& v, Arguments&) -> Value {
         return static_cast<std::int64_t>(items_of(w, v).size()); }},
    {"list", [](Work& w, const Value& v, Arguments&) { return w.list(items_of(w, v)); }},
    {"reverse", [](Work& w, const Value& v, Arguments&) { return slice_of(w, v, None{}, None{}, std::int64_t{-1}); }},
    {"safe", [](Work& w, const Value& v, Arguments&) -> Value { return text_of(w, v); }},
    {"string", [](Work& w, const Value& v, Arguments&) -> Value { return text_of(w, v); }}};
const Builtins text_methods = {
    {"capitalize", in_case<Case::sentence>}, {"endswith", has_at<false>}, {"lower", in_case<Case::lower>},
    {"lstrip", strip<true, false>}, {"replace", replace}, {"rstrip", strip<false, true>}, {"split", split},
    {"startswith", has_at<true>}, {"strip", strip<true, true>}, {"title", in_case<Case::title>},
    {"upper", in_case<Case::upper>}};
const Builtins dict_methods = {
    {"get", get}, {"items", members<true, true>}, {"keys", members<true, false>}, {"values", members<false, true>}};
// clang-format on

Value call(Work& work, const Builtins& all, std::string_view name, const Value& value, Arguments& arguments) {
    const auto found = all.find(name);
    if (found == all.end())
        work.refuse("the ", &all == &filters ? "filter '" : "method '", printable(name), "' is not supported for ",
                    described(value));
    const Value result = found->second(work, value, arguments);
    arguments.refuse_rest(work);
    return result;
}

} // namespace

Value filter(Work& work, std::string_view name, const Value& value, Arguments& arguments) {
    return call(work, filters, name, value, arguments);
}
Value method(Work& work, std::string_view name, const Value& value, Arguments& arguments) {
    static const Builtins none;
    const bool text = as<std::string_view>(value), dict = dict_in(value) != nullptr;
    return call(work, text ? text_methods : dict ? dict_methods : none, name, value, arguments);
}

bool test(Work& work, std::string_view name, const Value& value, Arguments& arguments) {
    constexpr std::pair<std::string_view, std::string_view> signs[] = {{"eq", "=="}, {"equalto", "=="}, {"ne", "!="},
                                                                       {"lt", "<"},  {"le", "<="},      {"gt", ">"},
                                                                       {"ge", ">="}, {"in", "in"}};
    for (const auto& [each, sign] : signs)
        if (const Value* const other = name == each || name == sign ? arguments.take(0) : nullptr)
            return is_true(operate(work, sign, value, *other));
    const bool text = as<std::string_view>(value), flag = as<bool>(value), dict = dict_in(value) != nullptr,
               undefined = as<Undefined>(value);
    const bool items = text || dict || undefined || as<const List*>(value);
    const std::int64_t number = number_in(value).value_or(0);
    const std::pair<std::string_view, bool> tests[] = {{"boolean", flag},
                                                       {"callable", as<Function>(value)},
                                                       {"defined", !undefined},
                                                       {"even", number % 2 == 0},
                                                       {"false", flag && number == 0},
                                                       {"integer", as<std::int64_t>(value)},
                                                       {"iterable", items},
                                                       {"mapping", dict},
                                                       {"none", as<None>(value)},
                                                       {"number", number_in(value).has_value()},
                                                       {"odd", number % 2 != 0},
                                                       {"sequence", items},
                                                       {"string", text},
                                                       {"true", flag && number == 1},
                                                       {"undefined", undefined}};
    for (const auto& [each, holds] : tests)
        if (name == each) return holds;
    work.refuse("the test '", printable(name), "' is not supported");
}

} // namespace ordo::jinja
