// SPDX-License-Identifier: MIT
#include "text/jinja_values.h"
#include "text/unicode.h"

#include <algorithm>

namespace ordo::jinja {

const Value* Dict::find(std::string_view name) const {
    for (const auto& [key, value] : members)
        if (key == name) return &value;
    return nullptr;
}
void Dict::set(std::string_view name, const Value& value) {
    std::erase_if(members, [&](const auto& each) { return each.first == name; });
    members.emplace_back(name, value);
}

void Work::spend(std::size_t bytes) {
    if (bytes > left_) refuse("expected a template that ends, found too much work");
    left_ -= bytes;
}
Value Work::text(std::string made) {
    spend(made.size() + 64);
    return texts_.emplace_back(std::move(made));
}
Value Work::list(std::vector<Value> items) {
    spend((items.size() + 2) * sizeof(Value));
    return &lists_.emplace_back(List{std::move(items)});
}
Dict* Work::dict() {
    spend(16 * sizeof(Value));
    return &dicts_.emplace_back();
}

const Value* Arguments::take(std::size_t place, std::string_view name) {
    taken_ = std::max(taken_, place + 1);
    if (place < places.size()) return &places[place];
    for (auto& [key, value] : named)
        if (!name.empty() && key == name) {
            key = {};
            return &value;
        }
    return nullptr;
}
Arguments Arguments::take_from(std::size_t place) {
    Arguments rest;
    for (; place < places.size(); ++place) rest.places.push_back(*take(place));
    return rest;
}
void Arguments::refuse_rest(const Work& work) const {
    if (taken_ < places.size()) work.refuse("expected at most ", taken_, " arguments, found ", places.size());
    for (const auto& [key, value] : named)
        if (!key.empty()) work.refuse("the argument '", printable(key), "' is not supported");
}

bool is_true(const Value& value) {
    if (const auto* const text = as<std::string_view>(value)) return !text->empty();
    if (const auto* const list = as<const List*>(value)) return !(*list)->items.empty();
    if (const Dict* const dict = dict_in(value)) return dict->is_namespace || !dict->members.empty();
    return as<Function>(value) != nullptr || number_in(value).value_or(0) != 0;
}

std::string described(const Value& value) {
    constexpr const char* names[] = {"",         "none",   "a boolean",    "an integer",
                                     "a string", "a list", "a dictionary", "a function"};
    const auto* const undefined = as<Undefined>(value);
    return undefined != nullptr ? "'" + printable(undefined->name) + "', which is undefined" : names[value.index()];
}

std::string_view text_of(Work& work, const Value& value) {
    if (const auto* const text = as<std::string_view>(value)) return *text;
    if (as<Undefined>(value)) return {};
    if (as<None>(value)) return "None";
    if (as<bool>(value)) return is_true(value) ? "True" : "False";
    if (!as<std::int64_t>(value)) work.refuse("expected a text, found ", described(value));
    return std::get<std::string_view>(work.text(std::to_string(*as<std::int64_t>(value))));
}

std::vector<Value> items_of(Work& work, const Value& value) {
    std::vector<Value> items;
    if (const auto* const list = as<const List*>(value)) {
        work.spend((*list)->items.size() * sizeof(Value));
        items = (*list)->items;
    } else if (const Dict* const dict = dict_in(value)) {
        for (const auto& [key, member] : dict->members) items.emplace_back(key);
    } else if (const auto* const text = as<std::string_view>(value)) {
        work.spend(text->size() * sizeof(Value));
        for (std::size_t at = 0, size = 0; at < text->size(); at += size) {
            size = unicode::first_char(text->substr(at)).length;
            items.emplace_back(text->substr(at, size));
        }
    } else if (!as<Undefined>(value)) {
        work.refuse("expected a list, found ", described(value));
    }
    return items;
}

Value member_of(Work& work, const Value& of, const Value& key) {
    if (as<Undefined>(of)) work.refuse("expected a value, found ", described(of));
    const auto* const name = as<std::string_view>(key);
    const Value absent = Undefined{name != nullptr ? *name : "an item"};
    if (name != nullptr) {
        const Value* const found = dict_in(of) != nullptr ? dict_in(of)->find(*name) : nullptr;
        return found != nullptr ? *found : absent;
    }
    if (!number_in(key) || (!as<const List*>(of) && !as<std::string_view>(of))) return absent;
    const std::vector<Value> items = items_of(work, of);
    const auto size = static_cast<std::int64_t>(items.size());
    const std::int64_t at = *number_in(key) < 0 ? *number_in(key) + size : *number_in(key);
    return at >= 0 && at < size ? items[static_cast<std::size_t>(at)] : absent;
}

Value slice_of(Work& work, const Value& of, const Value& from, const Value& to, const Value& by) {
    const std::vector<Value> items = items_of(work, of);
    const auto size = static_cast<std::int64_t>(items.size()), step = as<None>(by) ? 1 : number_in(by).value_or(0);
    if (step == 0) work.refuse("expected a step, found ", described(by));
    const std::int64_t least = step > 0 ? 0 : -1;
    const auto bound = [&](const Value& given, std::int64_t absent) {
        if (as<None>(given)) return absent;
        if (!number_in(given)) work.refuse("expected a place, found ", described(given));
        return std::clamp(*number_in(given) + (*number_in(given) < 0 ? size : 0), least, size + least);
    };
    const std::int64_t end = bound(to, step > 0 ? size : -1);
    std::vector<Value> taken;
    for (std::int64_t i = bound(from, step > 0 ? 0 : size - 1); step > 0 ? i < end : i > end;) {
        taken.push_back(items[static_cast<std::size_t>(i)]);
        if (__builtin_add_overflow(i, step, &i)) break;
    }
    if (!as<std::string_view>(of)) return work.list(std::move(taken));
    std::string text;
    for (const Value& each : taken) text += std::get<std::string_view>(each);
    return work.text(std::move(text));
}

// ---- Operators ---------------------------------------------------------------------------------------

namespace {

bool are_equal(Work& work, const Value& a, const Value& b, int depth = 0) {
    const Deeper deeper(depth, work.line);
    const auto *const text = as<std::string_view>(a), *const other = as<std::string_view>(b);
    work.spend(16 + (text != nullptr ? text->size() : 0));
    if (text != nullptr && other != nullptr) return *text == *other;
    if (number_in(a) && number_in(b)) return number_in(a) == number_in(b);
    if (a.index() != b.index()) return false;
    if (!as<const List*>(a) && dict_in(a) == nullptr) return as<None>(a) || as<Undefined>(a);
    const std::vector<Value> x = items_of(work, a), y = items_of(work, b); // of dictionaries: the keys
    if (x.size() != y.size()) return false;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const bool same = dict_in(a) == nullptr
                              ? are_equal(work, x[i], y[i], depth)
                              : are_equal(work, member_of(work, a, x[i]), member_of(work, b, x[i]), depth);
        if (!same) return false;
    }
    return true;
}

bool is_less(Work& work, const Value& a, const Value& b) {
    const auto *const text = as<std::string_view>(a), *const other = as<std::string_view>(b);
    work.spend(16 + (text != nullptr ? text->size() : 0));
    if (text != nullptr && other != nullptr) return *text < *other;
    if (number_in(a) && number_in(b)) return *number_in(a) < *number_in(b);
    work.refuse("expected two numbers or strings, found ", described(a), ", and ", described(b));
}

bool contains(Work& work, const Value& in, const Value& value) {
    if (const auto* const text = as<std::string_view>(in)) {
        const auto* const part = as<std::string_view>(value);
        if (part == nullptr) work.refuse("'in' of a string: expected a string, found ", described(value));
        work.spend(text->size() * (1 + part->size() / 16));
        return text->find(*part) != text->npos;
    }
    const std::vector<Value> items = items_of(work, in);
    return std::any_of(items.begin(), items.end(), [&](const Value& item) { return are_equal(work, item, value); });
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

Value operate(Work& work, std::string_view sign, const Value& a, const Value& b) {
    if (sign == "==" || sign == "!=") return are_equal(work, a, b) == (sign == "==");
    if (sign == "<" || sign == ">=") return is_less(work, a, b) == (sign == "<");
    if (sign == ">" || sign == "<=") return is_less(work, b, a) == (sign == ">");
    if (sign == "in") return contains(work, b, a);
    if (sign == "~" || (sign == "+" && as<std::string_view>(a) && as<std::string_view>(b)))
        return work.text(std::string(text_of(work, a)) + std::string(text_of(work, b)));
    if (sign == "+" && as<const List*>(a) && as<const List*>(b)) {
        std::vector<Value> items = items_of(work, a), more = items_of(work, b);
        items.insert(items.end(), more.begin(), more.end());
        return work.list(std::move(items));
    }
    const bool numbers = number_in(a) && number_in(b);
    const std::optional<std::int64_t> result = numbers ? calculate(sign, *number_in(a), *number_in(b)) : std::nullopt;
    if (!result) work.refuse("'", sign, "' of ", described(a), ", and ", described(b), " is not supported");
    return *result;
}

} // namespace ordo::jinja
