// SPDX-License-Identifier: MIT
#include "io/json.h"

#include "core/error.h"
#include "io/json_writer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace ordo {
namespace {

[[noreturn]] void wrong_value(std::string_view where, std::string_view key, const std::string& expected,
                              const JsonValue& found) {
    fail(ErrorCode::model, where, ": '", printable(key), "': expected ", expected, ", found ", describe(found));
}

} // namespace

JsonValue JsonValue::empty_array() {
    JsonValue value;
    value.value_ = std::make_unique<Array>();
    return value;
}

JsonValue JsonValue::empty_object() {
    JsonValue value;
    value.value_ = std::make_unique<Object>();
    return value;
}

JsonValue::~JsonValue() = default;

const JsonValue* find_member(const JsonValue& object, std::string_view key) {
    if (const JsonValue::Object* members = object.object())
        for (const JsonValue::Member& member : *members)
            if (member.key == key) return &member.value;
    return nullptr;
}

const JsonValue& get_member(const JsonValue& object, std::string_view key, std::string_view where) {
    if (!object.object()) fail(ErrorCode::model, where, ": expected an object, found ", describe(object));
    const JsonValue* member = find_member(object, key);
    if (!member) fail(ErrorCode::model, where, ": '", printable(key), "' is missing");
    return *member;
}

const JsonValue& get_object(const JsonValue& object, std::string_view key, std::string_view where) {
    const JsonValue& value = get_member(object, key, where);
    if (!value.object()) wrong_value(where, key, "an object", value);
    return value;
}

const JsonValue::Array& get_array(const JsonValue& object, std::string_view key, std::string_view where) {
    const JsonValue& value = get_member(object, key, where);
    if (!value.array()) wrong_value(where, key, "an array", value);
    return *value.array();
}

std::int64_t get_int(const JsonValue& object, std::string_view key, std::string_view where, std::int64_t least,
                     std::int64_t most) {
    const JsonValue& value = get_member(object, key, where);
    constexpr auto limit = std::uint64_t{std::numeric_limits<std::int64_t>::max()};
    std::optional<std::int64_t> number;
    if (const std::int64_t* signed_number = value.integer()) number = *signed_number;
    if (const std::uint64_t* natural = value.unsigned_integer(); natural && *natural <= limit)
        number = static_cast<std::int64_t>(*natural);
    if (number && *number >= least && *number <= most) return *number;
    wrong_value(where, key, "an integer from " + std::to_string(least) + " to " + std::to_string(most), value);
}

double get_number(const JsonValue& object, std::string_view key, std::string_view where, double least, double most) {
    const JsonValue& value = get_member(object, key, where);
    std::optional<double> number;
    if (const double* fraction = value.fraction()) number = *fraction;
    if (const std::int64_t* integer = value.integer()) number = static_cast<double>(*integer);
    if (const std::uint64_t* natural = value.unsigned_integer()) number = static_cast<double>(*natural);
    if (number && *number >= least && *number <= most) return *number;
    wrong_value(where, key, "a number from " + number_text(least) + " to " + number_text(most), value);
}

bool get_bool(const JsonValue& object, std::string_view key, std::string_view where) {
    const JsonValue& value = get_member(object, key, where);
    if (!value.boolean()) wrong_value(where, key, "true or false", value);
    return *value.boolean();
}

const std::string& get_string(const JsonValue& object, std::string_view key, std::string_view where) {
    const JsonValue& value = get_member(object, key, where);
    if (!value.string()) wrong_value(where, key, "a string", value);
    return *value.string();
}

void check_keys(const JsonValue& object, std::string_view where, std::initializer_list<std::string_view> known) {
    if (!object.object()) fail(ErrorCode::model, where, ": expected an object, found ", describe(object));
    for (const auto& [key, value] : *object.object())
        if (std::find(known.begin(), known.end(), key) == known.end())
            fail(ErrorCode::model, where, ": unknown key '", printable(key), "'");
}

std::string describe(const JsonValue& value) {
    if (value.object()) return "an object";
    if (value.array()) return "an array";
    if (const std::string* text = value.string()) return '"' + printable(*text, 40) + '"';
    if (const double* number = value.fraction(); number != nullptr && !std::isfinite(*number)) // from a GGUF file
        return std::isnan(*number) ? "nan" : *number < 0 ? "-inf" : "inf";
    JsonWriter scalar;
    scalar.value(value);
    return scalar.take();
}

} // namespace ordo
