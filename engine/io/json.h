// SPDX-License-Identifier: MIT
// JSON as RFC 8259 has it and no wider: the only door to nlohmann's parser. Refused, with an Error(model)
// that begins with `where`: a byte order mark, bytes that are not UTF-8, an object that names a key
// twice, NaN and other literals, text after the value, and whatever exceeds the limits. Nesting is
// bounded before anything nests, so that no input can exhaust the stack.
#pragma once

#include "ordo.h"

#include <initializer_list>
#include <nlohmann/json.hpp>

namespace ordo {

using Json = nlohmann::json;

struct JsonLimits {
    std::size_t bytes; // of the text
    int depth;         // of nested arrays and objects
};
inline constexpr JsonLimits json_header_limits{std::size_t{16} << 20, 16};
inline constexpr JsonLimits json_tokenizer_limits{std::size_t{64} << 20, 64};

Json parse_json(std::string_view text, std::string_view where, const JsonLimits& limits = json_header_limits);

// The same text as events, for a reader that needs no tree. What a handler throws stops the parser.
// Duplicate keys are the handler's to find.
class JsonEvents {
public:
    virtual ~JsonEvents() = default;
    virtual void begin_object() = 0;
    virtual void key(std::string&& name) = 0;
    virtual void end_object() = 0;
    virtual void begin_array() = 0;
    virtual void end_array() = 0;
    virtual void value(Json&& scalar) = 0; // null, boolean, number or string
};
void parse_json(std::string_view text, std::string_view where, const JsonLimits& limits, JsonEvents& events);

// The tree of the events that it is handed; a key that comes twice is refused. It may take 60 MiB and twice
// the text, so that with the text and its file no more than 64 MiB and four times the file is ever held: a
// member of six bytes costs a hundred in memory.
class JsonTree final : public JsonEvents {
public:
    JsonTree(std::string_view where, std::size_t text_bytes)
        : where_(where), budget_((std::size_t{60} << 20) + 2 * text_bytes) {}

    void begin_object() override;
    void key(std::string&& name) override;
    void end_object() override { open_.pop_back(); }
    void begin_array() override;
    void end_array() override { open_.pop_back(); }
    void value(Json&& scalar) override;
    Json take() { return std::move(root_); }

private:
    void charge(std::size_t bytes);
    Json* place(Json&& value);

    std::string_view where_;
    std::size_t budget_; // bytes that may yet be taken
    Json root_;
    std::vector<Json*> open_;
    Json* member_ = nullptr; // of the innermost object, the one whose key was read last
};

// Members of an object, checked. Each throws Error(model) naming where, the key, what was expected and
// what was found: a key missing, of another type or out of range. A number such as 3.0 is not an
// integer. where describes the object: "model.safetensors: blueprint".
const Json* find_member(const Json& object, std::string_view key); // nullptr if absent or not an object
const Json& get_member(const Json& object, std::string_view key, std::string_view where);
const Json& get_object(const Json& object, std::string_view key, std::string_view where);
const Json& get_array(const Json& object, std::string_view key, std::string_view where);
std::int64_t get_int(const Json& object, std::string_view key, std::string_view where, std::int64_t least,
                     std::int64_t most);
double get_number(const Json& object, std::string_view key, std::string_view where, double least, double most);
bool get_bool(const Json& object, std::string_view key, std::string_view where);
const std::string& get_string(const Json& object, std::string_view key, std::string_view where);
// Refuses a value that is not an object, and the first key of it that is not among the known.
void check_keys(const Json& object, std::string_view where, std::initializer_list<std::string_view> known);

// A value as it appears in a message: short, on one line, safe for a terminal.
std::string describe(const Json& value);

} // namespace ordo
