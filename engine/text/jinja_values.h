// SPDX-License-Identifier: MIT
// The values of a template in Jinja, with Python's meaning, and the operators, filters, tests and methods on them.
// Numbers are integers. A function throws Error for values that it does not support.
#pragma once

#include "text/jinja.h"

#include <deque>
#include <optional>
#include <variant>

namespace ordo::jinja {

struct Undefined {
    std::string_view name;
};
struct None {};
struct Function { // a macro, or a function of Jinja by its name
    const Node* macro;
    std::string_view name;
};
struct Dict;
struct List;
using Value = std::variant<Undefined, None, bool, std::int64_t, std::string_view, const List*, Dict*, Function>;
struct List {
    std::vector<Value> items;
};
struct Dict {
    std::vector<std::pair<std::string_view, Value>> members;
    bool is_namespace = false;

    const Value* find(std::string_view name) const;
    void set(std::string_view name, const Value& value);
};

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

// Owns the values of one evaluation, and limits its work.
class Work {
public:
    int line = 0; // of the node that is evaluated

    template <class... Parts>
    [[noreturn]] void refuse(const Parts&... parts) const {
        fail_at(line, parts...);
    }
    void spend(std::size_t bytes); // that are written or searched, or as much time
    Value text(std::string made);
    Value list(std::vector<Value> items);
    Dict* dict();

private:
    std::size_t left_ = std::size_t{1} << 27;
    std::deque<std::string> texts_;
    std::deque<List> lists_;
    std::deque<Dict> dicts_;
};

// The arguments of a call. A function takes the ones that it knows; the others are refused.
class Arguments {
public:
    std::vector<Value> places;
    std::vector<std::pair<std::string_view, Value>> named;

    const Value* take(std::size_t place, std::string_view name = {}); // nullptr if absent
    Arguments take_from(std::size_t place);                           // the rest
    void refuse_rest(const Work& work) const;

private:
    std::size_t taken_ = 0; // places
};

bool is_true(const Value& value);
std::string described(const Value& value);                   // for messages
std::string_view text_of(Work& work, const Value& value);    // as {{ value }} writes it
std::vector<Value> items_of(Work& work, const Value& value); // as a loop sees them
Value member_of(Work& work, const Value& of, const Value& key);
Value slice_of(Work& work, const Value& of, const Value& from, const Value& to, const Value& step);
Value operate(Work& work, std::string_view sign, const Value& a, const Value& b);
Value filter(Work& work, std::string_view name, const Value& value, Arguments& arguments);
bool test(Work& work, std::string_view name, const Value& value, Arguments& arguments);
Value method(Work& work, std::string_view name, const Value& value, Arguments& arguments);

} // namespace ordo::jinja
