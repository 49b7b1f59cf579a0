// SPDX-License-Identifier: MIT
// JSON exactly as in RFC 8259. A reader throws Error(model) that begins with `where` for anything else, and for
// anything above the limits. This includes a byte order mark, bytes that are not UTF-8, NaN and other literals, and
// text after the value. A duplicate key of an object is refused, or in the files of other programs the last one counts,
// as in Python's json and in Hugging Face's tokenizers. Nesting is limited before anything nests, so that no input can
// exhaust the stack. nlohmann's parser reads the text as events. Its tree is not used: it allocates in destructors and
// comparisons that may not throw, where a failed allocation would end the process.
#pragma once

#include "rows.h"

#include <initializer_list>
#include <memory>
#include <utility>
#include <variant>

namespace ordo {

// A value from a JSON text. It is moved, never copied, and destroyed without an allocation.
class JsonValue {
public:
    struct Member;
    using Array = std::vector<JsonValue>;
    using Object = std::vector<Member>; // in the order of the text

    JsonValue() = default; // null
    explicit JsonValue(bool value);
    explicit JsonValue(std::int64_t value);
    explicit JsonValue(std::uint64_t value);
    explicit JsonValue(double value);
    explicit JsonValue(std::string&& value);
    static JsonValue empty_array();
    static JsonValue empty_object();
    JsonValue(JsonValue&&) noexcept = default;
    JsonValue& operator=(JsonValue&&) noexcept = default;
    ~JsonValue();

    bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
    // The value of the named type; nullptr if it has another type. A number without a fraction is unsigned, or integer
    // if it is negative.
    const bool* boolean() const { return std::get_if<bool>(&value_); }
    const std::int64_t* integer() const { return std::get_if<std::int64_t>(&value_); }
    const std::uint64_t* unsigned_integer() const { return std::get_if<std::uint64_t>(&value_); }
    const double* fraction() const { return std::get_if<double>(&value_); }
    const std::string* string() const { return pointed<std::string>(); }
    const Array* array() const { return pointed<Array>(); }
    const Object* object() const { return pointed<Object>(); }
    std::string* string() { return pointed<std::string>(); }
    Array* array() { return pointed<Array>(); }
    Object* object() { return pointed<Object>(); }

private:
    template <class T>
    T* pointed() const {
        const auto* held = std::get_if<std::unique_ptr<T>>(&value_);
        return held ? held->get() : nullptr;
    }

    // Pointers, so that a value has 16 bytes.
    std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::unique_ptr<std::string>,
                 std::unique_ptr<Array>, std::unique_ptr<Object>>
        value_;
};
struct JsonValue::Member {
    std::string key;
    JsonValue value;
};
// Here, because C++23 asks for a complete Member.
inline JsonValue::JsonValue(bool value) : value_(value) {}
inline JsonValue::JsonValue(std::int64_t value) : value_(value) {}
inline JsonValue::JsonValue(std::uint64_t value) : value_(value) {}
inline JsonValue::JsonValue(double value) : value_(value) {}
inline JsonValue::JsonValue(std::string&& value) : value_(std::make_unique<std::string>(std::move(value))) {}

struct JsonLimits {
    std::size_t bytes;    // of the text
    int depth;            // of nested arrays and objects
    bool repeats = false; // whether an object may repeat a key
};
inline constexpr JsonLimits json_header_limits{std::size_t{16} << 20, 16};
inline constexpr JsonLimits json_config_limits{std::size_t{16} << 20, 16, true};
inline constexpr JsonLimits json_tokenizer_limits{std::size_t{64} << 20, 64, true};

JsonValue parse_json(std::string_view text, std::string_view where, const JsonLimits& limits = json_header_limits);

// The same text as events, for a reader that needs no tree. An exception of a handler stops the parser. The handler has
// to find duplicate keys.
class JsonEvents {
public:
    virtual ~JsonEvents() = default;
    virtual void begin_object() = 0;
    virtual void key(std::string&& name) = 0;
    virtual void end_object() = 0;
    virtual void begin_array() = 0;
    virtual void end_array() = 0;
    virtual void value(JsonValue&& scalar) = 0; // null, boolean, number or string
};
void parse_json(std::string_view text, std::string_view where, const JsonLimits& limits, JsonEvents& events);

// Builds the tree from events. Of a duplicate key, the last one counts or none. It may take 60 MiB and twice the text.
// Text, file, tree and long strings then take at most 64 MiB and five times the file: a member of six bytes costs a
// hundred in memory.
class JsonTree final : public JsonEvents {
public:
    JsonTree(std::string_view where, std::size_t text_bytes, bool repeats = false)
        : where_(where), budget_((std::size_t{60} << 20) + 2 * text_bytes), repeats_(repeats) {}

    void begin_object() override;
    void key(std::string&& name) override;
    void end_object() override;
    void begin_array() override;
    void end_array() override { open_.pop_back(); }
    void value(JsonValue&& scalar) override;
    JsonValue take() { return std::move(root_); }

private:
    void charge(std::size_t bytes);
    JsonValue* place(JsonValue&& value);

    std::string_view where_;
    std::size_t budget_; // bytes that are left
    bool repeats_;       // whether an object may repeat a key
    JsonValue root_;
    std::vector<JsonValue*> open_;
    JsonValue* member_ = nullptr; // of the innermost object: the member whose key was read last
};

// Checked members of an object. Each throws Error(model) with `where`, the key, the expected and the found value: for a
// key that is missing, of another type or out of range. A number such as 3.0 is not an integer. `where` describes the
// object: "model.safetensors: blueprint".
const JsonValue* find_member(const JsonValue& object, std::string_view key); // nullptr if absent or not an object
const JsonValue& get_member(const JsonValue& object, std::string_view key, std::string_view where);
const JsonValue& get_object(const JsonValue& object, std::string_view key, std::string_view where);
const JsonValue::Array& get_array(const JsonValue& object, std::string_view key, std::string_view where);
std::int64_t get_int(const JsonValue& object, std::string_view key, std::string_view where, std::int64_t least,
                     std::int64_t most);
double get_number(const JsonValue& object, std::string_view key, std::string_view where, double least, double most);
bool get_bool(const JsonValue& object, std::string_view key, std::string_view where);
const std::string& get_string(const JsonValue& object, std::string_view key, std::string_view where);
// Refuses a value that is not an object, and an object with an unknown key.
void check_keys(const JsonValue& object, std::string_view where, std::initializer_list<std::string_view> known);

// A value for a message: short, on one line, safe for a terminal.
std::string describe(const JsonValue& value);

} // namespace ordo
