// SPDX-License-Identifier: MIT
#include "io/json.h"

#include "core/error.h"
#include "core/utf8.h"

#include <algorithm>
#include <charconv>

namespace ordo {
namespace {

// nlohmann's SAX interface, which keeps its own stack and does not recurse, with the bounds added.
class Guard final : public nlohmann::json_sax<Json> {
public:
    Guard(std::string_view where, const JsonLimits& limits, JsonEvents& events)
        : where_(where), limits_(limits), events_(events) {}

    bool null() override { return scalar(nullptr); }
    bool boolean(bool value) override { return scalar(value); }
    bool number_integer(number_integer_t value) override { return scalar(value); }
    bool number_unsigned(number_unsigned_t value) override { return scalar(value); }
    bool number_float(number_float_t value, const string_t&) override { return scalar(value); }
    bool string(string_t& value) override { return scalar(std::move(value)); }
    bool binary(binary_t&) override { fail(ErrorCode::model, where_, ": binary value in JSON"); }

    bool start_object(std::size_t) override {
        open();
        events_.begin_object();
        return true;
    }
    bool key(string_t& name) override {
        events_.key(std::move(name));
        return true;
    }
    bool end_object() override {
        --depth_;
        events_.end_object();
        return true;
    }
    bool start_array(std::size_t) override {
        open();
        events_.begin_array();
        return true;
    }
    bool end_array() override {
        --depth_;
        events_.end_array();
        return true;
    }

    // The parser's text is "[json.exception.parse_error.101] parse error at line 1, column 2: ...".
    bool parse_error(std::size_t byte, const std::string&, const Json::exception& error) override {
        std::string_view what = error.what();
        if (const auto at = what.find(": "); at != std::string_view::npos) what.remove_prefix(at + 2);
        fail(ErrorCode::model, where_, ": invalid JSON at byte ", byte, ": ", printable(what, 160));
    }

private:
    void open() {
        if (++depth_ > limits_.depth) fail(ErrorCode::model, where_, ": JSON nested deeper than ", limits_.depth);
    }
    template <class T>
    bool scalar(T&& value) {
        events_.value(Json(std::forward<T>(value)));
        return true;
    }

    std::string_view where_;
    const JsonLimits& limits_;
    JsonEvents& events_;
    int depth_ = 0;
};

// What a string takes outside of its object.
std::size_t heap_bytes(const std::string& text) {
    return text.size() < 16 ? 0 : text.size() + 32;
}

[[noreturn]] void wrong_value(std::string_view where, std::string_view key, const std::string& expected,
                              const Json& found) {
    fail(ErrorCode::model, where, ": '", printable(key), "': expected ", expected, ", found ", describe(found));
}

std::string shortest(double number) {
    char text[32];
    return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

} // namespace

// ---- The tree -----------------------------------------------------------------------------------

void JsonTree::begin_object() {
    charge(64);
    open_.push_back(place(Json::object()));
}

void JsonTree::begin_array() {
    charge(32);
    open_.push_back(place(Json::array()));
}

void JsonTree::value(Json&& scalar) {
    if (scalar.is_string()) charge(48 + heap_bytes(scalar.get_ref<const std::string&>()));
    place(std::move(scalar));
}

void JsonTree::key(std::string&& name) {
    charge(96 + heap_bytes(name)); // a node of std::map
    auto& members = open_.back()->get_ref<Json::object_t&>();
    const auto [at, inserted] = members.emplace(std::move(name), nullptr);
    if (!inserted) fail(ErrorCode::model, where_, ": key '", printable(at->first), "' appears twice");
    member_ = &at->second;
}

// Estimates of what the allocator takes for a thing, its own share included.
void JsonTree::charge(std::size_t bytes) {
    if (bytes > budget_) fail(ErrorCode::model, where_, ": JSON that takes too much memory for its size");
    budget_ -= bytes;
}

// Only the innermost open container grows, so the addresses in open_ stay valid.
Json* JsonTree::place(Json&& value) {
    if (open_.empty()) {
        root_ = std::move(value);
        return &root_;
    }
    if (open_.back()->is_array()) {
        charge(3 * sizeof(Json)); // a full array is copied to one of twice its size
        auto& items = open_.back()->get_ref<Json::array_t&>();
        items.push_back(std::move(value));
        return &items.back();
    }
    *member_ = std::move(value);
    return member_;
}

// ---- Parsing ----------------------------------------------------------------------------------

void parse_json(std::string_view text, std::string_view where, const JsonLimits& limits, JsonEvents& events) {
    if (text.size() > limits.bytes)
        fail(ErrorCode::model, where, ": JSON of ", text.size(), " bytes, allowed are ", limits.bytes);
    if (text.starts_with("\xef\xbb\xbf")) fail(ErrorCode::model, where, ": JSON starts with a byte order mark");
    if (!utf8_valid(text)) fail(ErrorCode::model, where, ": JSON is not valid UTF-8");
    // The grammar has no NUL anywhere; nlohmann's lexer takes one for the end of the text.
    if (const auto at = text.find('\0'); at != std::string_view::npos)
        fail(ErrorCode::model, where, ": invalid JSON at byte ", at, ": a NUL byte");
    Guard guard(where, limits, events);
    Json::sax_parse(text.begin(), text.end(), &guard);
}

Json parse_json(std::string_view text, std::string_view where, const JsonLimits& limits) {
    JsonTree tree(where, text.size());
    parse_json(text, where, limits, tree);
    return tree.take();
}

// ---- Members ----------------------------------------------------------------------------------

const Json* find_member(const Json& object, std::string_view key) {
    if (!object.is_object()) return nullptr;
    const auto at = object.find(key);
    return at == object.end() ? nullptr : &*at;
}

const Json& get_member(const Json& object, std::string_view key, std::string_view where) {
    if (!object.is_object()) fail(ErrorCode::model, where, ": expected an object, found ", describe(object));
    const Json* member = find_member(object, key);
    if (!member) fail(ErrorCode::model, where, ": '", printable(key), "' is missing");
    return *member;
}

const Json& get_object(const Json& object, std::string_view key, std::string_view where) {
    const Json& value = get_member(object, key, where);
    if (!value.is_object()) wrong_value(where, key, "an object", value);
    return value;
}

const Json& get_array(const Json& object, std::string_view key, std::string_view where) {
    const Json& value = get_member(object, key, where);
    if (!value.is_array()) wrong_value(where, key, "an array", value);
    return value;
}

std::int64_t get_int(const Json& object, std::string_view key, std::string_view where, std::int64_t least,
                     std::int64_t most) {
    const Json& value = get_member(object, key, where);
    const bool fits = value.is_number_integer() &&
                      (!value.is_number_unsigned() ||
                       value.get<std::uint64_t>() <= std::uint64_t{std::numeric_limits<std::int64_t>::max()});
    if (fits) {
        const auto number = value.get<std::int64_t>();
        if (number >= least && number <= most) return number;
    }
    wrong_value(where, key, "an integer from " + std::to_string(least) + " to " + std::to_string(most), value);
}

double get_number(const Json& object, std::string_view key, std::string_view where, double least, double most) {
    const Json& value = get_member(object, key, where);
    if (value.is_number()) {
        const auto number = value.get<double>();
        if (number >= least && number <= most) return number;
    }
    wrong_value(where, key, "a number from " + shortest(least) + " to " + shortest(most), value);
}

bool get_bool(const Json& object, std::string_view key, std::string_view where) {
    const Json& value = get_member(object, key, where);
    if (!value.is_boolean()) wrong_value(where, key, "true or false", value);
    return value.get<bool>();
}

const std::string& get_string(const Json& object, std::string_view key, std::string_view where) {
    const Json& value = get_member(object, key, where);
    if (!value.is_string()) wrong_value(where, key, "a string", value);
    return value.get_ref<const std::string&>();
}

void check_keys(const Json& object, std::string_view where, std::initializer_list<std::string_view> known) {
    if (!object.is_object()) fail(ErrorCode::model, where, ": expected an object, found ", describe(object));
    for (const auto& [key, value] : object.get_ref<const Json::object_t&>())
        if (std::find(known.begin(), known.end(), key) == known.end())
            fail(ErrorCode::model, where, ": unknown key '", printable(key), "'");
}

std::string describe(const Json& value) {
    if (value.is_object()) return "an object";
    if (value.is_array()) return "an array";
    if (value.is_string()) return '"' + printable(value.get_ref<const std::string&>(), 40) + '"';
    return value.dump();
}

} // namespace ordo
