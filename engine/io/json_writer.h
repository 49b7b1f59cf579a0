// SPDX-License-Identifier: MIT
// JSON as text, written from front to back.
#pragma once

#include "io/json.h"

#include <type_traits>

namespace ordo {

// In quotation marks, escaped; bytes that are not UTF-8 become U+FFFD.
std::string json_quoted(std::string_view text);

class JsonWriter {
public:
    // indent: spaces for each level of nesting; -1: all on one line.
    explicit JsonWriter(int indent = -1) : indent_(indent) {}

    void begin_object() { open('{'); }
    void end_object() { close('}'); }
    void begin_array() { open('['); }
    void end_array() { close(']'); }
    void key(std::string_view name);

    void value(const JsonValue& tree);
    void null();
    // A text, a bool, a number (null if it is not finite) or a range of these. A double has a point or an exponent, and
    // the shortest text that reads back as the same number.
    template <class T>
    void value(const T& item) {
        if constexpr (std::is_convertible_v<const T&, std::string_view>) {
            before();
            text_ += json_quoted(item);
        } else if constexpr (std::is_same_v<T, bool>) {
            before();
            text_ += item ? "true" : "false";
        } else if constexpr (std::is_floating_point_v<T>) {
            number(item);
        } else if constexpr (std::is_integral_v<T>) {
            before();
            text_ += std::to_string(item);
        } else {
            begin_array();
            for (const auto& each : item) value(each);
            end_array();
        }
    }
    template <class T>
    void member(std::string_view name, const T& item) {
        key(name);
        value(item);
    }

    // The text written since the last take().
    std::size_t size() const { return text_.size(); }
    std::string take() { return std::exchange(text_, {}); }

private:
    void open(char bracket);
    void close(char bracket);
    void before();
    void new_line();
    void number(double number);

    int indent_;
    int depth_ = 0;
    bool first_ = true;      // the innermost container is empty
    bool after_key_ = false; // the value of a key is next
    std::string text_;
};

} // namespace ordo
