// SPDX-License-Identifier: MIT
#include "text/jinja.h"
#include "text/unicode.h"

#include <algorithm>
#include <compare>

namespace ordo::jinja {

Value* Dict::find(std::string_view name) {
    for (auto& [key, value] : members)
        if (key == name) return &value;
    return nullptr;
}
void Dict::set(std::string_view name, const Value& value) {
    if (Value* const old = find(name))
        *old = value;
    else
        members.emplace_back(name, value);
}

State::State(std::time_t time) : now(time) {
    for (const char* const name : {"none", "None", "tools", "documents"}) root.names[name] = None{};
    for (const char* const name : {"true", "True", "false", "False"}) root.names[name] = name[1] == 'r';
}
void State::spend(std::size_t bytes) {
    if (bytes > left_) refuse("expected a template that ends, found too much work");
    left_ -= bytes;
}
Value State::text(std::string made) {
    spend(made.size() + 64);
    return texts_.emplace_back(std::move(made));
}
Value State::list(List items) {
    spend((items.size() + 2) * sizeof(Value));
    return &lists_.emplace_back(std::move(items));
}
Dict* State::dict() {
    spend(16 * sizeof(Value));
    return &dicts_.emplace_back();
}

Value State::variable(std::string_view name) const {
    for (const Scope* each = scope; each != nullptr; each = each->outer)
        if (const auto found = each->names.find(name); found != each->names.end()) return found->second;
    const Function* const function = builtin("function", name);
    return function != nullptr ? Value(function) : Undefined{name};
}
Value State::inside(Scope* outer, const std::function<Value()>& run) {
    Scope own{outer};
    Scope* const before = std::exchange(scope, &own);
    const Value result = run();
    scope = before;
    return result;
}

Value repeat(State& state, const List& items, const Target& target, const Code& body) {
    Dict* const loop = state.dict();
    const auto size = static_cast<std::int64_t>(items.size());
    const auto at = [&](std::int64_t place) {
        return place >= 0 && place < size ? items[static_cast<std::size_t>(place)] : Undefined{"an item"};
    };
    for (std::int64_t i = 0; i < size && state.flow != Flow::stop; ++i) {
        loop->members = {{"index", i + 1},        {"index0", i},           {"revindex", size - i},
                         {"first", i == 0},       {"last", i + 1 == size}, {"revindex0", size - 1 - i},
                         {"previtem", at(i - 1)}, {"nextitem", at(i + 1)}, {"length", size}};
        state.flow = Flow::on;
        state.inside(state.scope, [&] {
            target(state, at(i));
            state.scope->names["loop"] = loop;
            return (*body)(state);
        });
    }
    state.flow = Flow::on;
    return None{};
}

bool is_true(const Value& value) {
    if (const auto* const text = as<std::string_view>(value)) return !text->empty();
    if (const auto* const list = as<const List*>(value)) return !(*list)->empty();
    if (const Dict* const dict = dict_in(value)) return dict->is_namespace || !dict->members.empty();
    return as<const Function*>(value) != nullptr || number_in(value).value_or(0) != 0;
}

std::string described(const Value& value) {
    constexpr const char* names[] = {"",         "none",   "a boolean",    "an integer",
                                     "a string", "a list", "a dictionary", "a function"};
    const auto* const undefined = as<Undefined>(value);
    return undefined != nullptr ? "'" + printable(undefined->name) + "', which is undefined" : names[value.index()];
}

std::string_view text_of(State& state, const Value& value) {
    if (const auto* const text = as<std::string_view>(value)) return *text;
    if (as<Undefined>(value)) return {};
    if (as<None>(value)) return "None";
    if (as<bool>(value)) return is_true(value) ? "True" : "False";
    if (!as<std::int64_t>(value)) state.refuse("expected a text, found ", described(value));
    return *as<std::string_view>(state.text(std::to_string(*as<std::int64_t>(value))));
}

List items_of(State& state, const Value& value) {
    List items;
    if (const auto* const list = as<const List*>(value)) {
        items = **list;
    } else if (const Dict* const dict = dict_in(value)) {
        for (const auto& [key, member] : dict->members) items.emplace_back(key);
    } else if (const auto* const text = as<std::string_view>(value)) {
        state.spend(text->size() * sizeof(Value));
        for (std::size_t at = 0, size = 0; at < text->size(); at += size) {
            size = unicode::first_char(text->substr(at)).length;
            items.emplace_back(text->substr(at, size));
        }
    } else if (!as<Undefined>(value)) {
        state.refuse("expected a list, found ", described(value));
    }
    state.spend(items.size() * sizeof(Value));
    return items;
}

Value member_of(State& state, const Value& of, const Value& key) {
    if (as<Undefined>(of)) state.refuse("expected a value, found ", described(of));
    if (const auto* const name = as<std::string_view>(key)) {
        const Value* const found = dict_in(of) != nullptr ? dict_in(of)->find(*name) : nullptr;
        return found != nullptr ? *found : Undefined{*name};
    }
    const std::optional<std::int64_t> place = number_in(key);
    if (!place || (!as<const List*>(of) && !as<std::string_view>(of))) return Undefined{"an item"};
    const List items = items_of(state, of);
    const std::size_t at = static_cast<std::size_t>(*place) + (*place < 0 ? items.size() : 0);
    return at < items.size() ? items[at] : Undefined{"an item"};
}

Value slice_of(State& state, const List& values) {
    const List items = items_of(state, values[0]);
    const auto size = static_cast<std::int64_t>(items.size());
    const auto number = [&](std::size_t part, std::int64_t absent, std::int64_t least, std::int64_t most) {
        if (part >= values.size() || as<None>(values[part])) return absent;
        if (!number_in(values[part])) state.refuse("expected a place, found ", described(values[part]));
        const std::int64_t given = *number_in(values[part]);
        return std::clamp(part < 3 && given < 0 ? given + size : given, least, most);
    };
    const std::int64_t step = number(3, 1, -size - 1, size + 1), least = step > 0 ? 0 : -1;
    if (step == 0) state.refuse("expected a step, found 0");
    const std::int64_t end = number(2, step > 0 ? size : -1, least, size + least);
    std::string text;
    List taken;
    for (std::int64_t i = number(1, step > 0 ? 0 : size - 1, least, size + least); step > 0 ? i < end : i > end;
         i += step)
        taken.push_back(items[static_cast<std::size_t>(i)]);
    if (!as<std::string_view>(values[0])) return state.list(std::move(taken));
    for (const Value& each : taken) text += *as<std::string_view>(each);
    return state.text(std::move(text));
}

// ---- Operators ---------------------------------------------------------------------------------------

namespace {

using Order = std::partial_ordering;

Order compare(State& state, const Value& a, const Value& b) {
    const Deeper deeper(state.depth, state.line);
    const auto *const text = as<std::string_view>(a), *const other = as<std::string_view>(b);
    state.spend(16 + (text != nullptr ? text->size() : 0));
    if (text != nullptr && other != nullptr) return text->compare(*other) <=> 0;
    if (number_in(a) && number_in(b)) return *number_in(a) <=> *number_in(b);
    const bool same = a.index() == b.index(), lists = same && as<const List*>(a), dicts = same && dict_in(a) != nullptr;
    if (!lists && !dicts) return same && (as<None>(a) || as<Undefined>(a)) ? Order::equivalent : Order::unordered;
    const List x = items_of(state, a), y = items_of(state, b); // of dictionaries: the keys
    if (dicts && x.size() != y.size()) return Order::unordered;
    for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
        const Order order =
            lists ? compare(state, x[i], y[i]) : compare(state, member_of(state, a, x[i]), member_of(state, b, x[i]));
        if (order != Order::equivalent) return order;
    }
    return x.size() <=> y.size();
}

bool contains(State& state, const Value& in, const Value& value) {
    if (const auto* const text = as<std::string_view>(in)) {
        const auto* const part = as<std::string_view>(value);
        if (part == nullptr) state.refuse("'in' of a string: expected a string, found ", described(value));
        state.spend(text->size() * (1 + part->size() / 16));
        return text->find(*part) != text->npos;
    }
    const List items = items_of(state, in);
    return std::any_of(items.begin(), items.end(),
                       [&](const Value& item) { return compare(state, item, value) == Order::equivalent; });
}

std::optional<std::int64_t> calculate(std::string_view sign, std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    if (sign == "+" && !__builtin_add_overflow(a, b, &result)) return result;
    if (sign == "-" && !__builtin_sub_overflow(a, b, &result)) return result;
    if (sign == "*" && !__builtin_mul_overflow(a, b, &result)) return result;
    if ((sign != "//" && sign != "%") || b == 0 || b == -1) return std::nullopt;
    const std::int64_t rest = a % b, down = rest != 0 && (rest < 0) != (b < 0) ? 1 : 0; // as in Python
    return sign == "%" ? rest + down * b : a / b - down;
}

} // namespace

Value operate(State& state, std::string_view sign, const Value& a, const Value& b) {
    if (sign == "==" || sign == "!=") return (compare(state, a, b) == Order::equivalent) == (sign == "==");
    if (sign[0] == '<' || sign[0] == '>') {
        const Order order = compare(state, a, b);
        if (order == Order::unordered || dict_in(a) != nullptr || as<None>(a))
            state.refuse("expected two numbers, strings or lists, found ", described(a), ", and ", described(b));
        if (order == Order::equivalent) return sign.size() == 2;
        return sign[0] == '<' ? order == Order::less : order == Order::greater;
    }
    if (sign == "in" || sign == "not in") return contains(state, b, a) == (sign == "in");
    if (sign == "~" || (sign == "+" && as<std::string_view>(a) && as<std::string_view>(b)))
        return state.text(std::string(text_of(state, a)).append(text_of(state, b)));
    if (sign == "+" && as<const List*>(a) && as<const List*>(b)) {
        List items = items_of(state, a);
        const List more = items_of(state, b);
        items.insert(items.end(), more.begin(), more.end());
        return state.list(std::move(items));
    }
    const bool numbers = number_in(a) && number_in(b);
    const std::optional<std::int64_t> result = numbers ? calculate(sign, *number_in(a), *number_in(b)) : std::nullopt;
    if (!result) state.refuse("'", sign, "' of ", described(a), ", and ", described(b), " is not supported");
    return *result;
}

} // namespace ordo::jinja
