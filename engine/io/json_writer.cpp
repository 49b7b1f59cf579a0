// SPDX-License-Identifier: MIT
#include "io/json_writer.h"

#include "core/number.h"
#include "core/utf8.h"

#include <cmath>

namespace ordo {
namespace {

// U+0080 to U+009F: control characters of two bytes.
bool is_c1(std::string_view character) {
    return character.size() == 2 && character[0] == '\xc2' && static_cast<unsigned char>(character[1]) < 0xa0;
}

} // namespace

std::string json_quoted(std::string_view text) {
    static constexpr char digits[] = "0123456789abcdef";
    static constexpr std::string_view letters = "btn.fr"; // of \b to \r; \v has none
    std::string out = "\"";
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        const auto byte = static_cast<unsigned char>(text.front());
        if (length == 0) {
            out += "\xef\xbf\xbd";
        } else if (byte == '"' || byte == '\\') {
            out += '\\';
            out += text.front();
        } else if (byte >= '\b' && byte <= '\r' && byte != '\v') {
            out += '\\';
            out += letters[byte - '\b'];
        } else if (byte < 0x20 || is_c1(text.substr(0, length))) { // a terminal acts on it
            const auto point = static_cast<unsigned char>(text[length - 1]);
            out += "\\u00";
            out += digits[point >> 4];
            out += digits[point & 15];
        } else {
            out += text.substr(0, length);
        }
        text.remove_prefix(length == 0 ? 1 : length);
    }
    return out + '"';
}

void JsonWriter::new_line() {
    if (indent_ < 0) return;
    text_ += '\n';
    text_.append(static_cast<std::size_t>(indent_ * depth_), ' ');
}

// Called before a key, and before a value without a key.
void JsonWriter::before() {
    if (!std::exchange(after_key_, false) && depth_ > 0) {
        if (!first_) text_ += ',';
        new_line();
    }
    first_ = false;
}

void JsonWriter::open(char bracket) {
    before();
    text_ += bracket;
    ++depth_;
    first_ = true;
}

void JsonWriter::close(char bracket) {
    --depth_;
    if (!first_) new_line();
    text_ += bracket;
    first_ = false;
}

void JsonWriter::key(std::string_view name) {
    before();
    text_ += json_quoted(name);
    text_ += indent_ < 0 ? ":" : ": ";
    after_key_ = true;
}

void JsonWriter::null() {
    before();
    text_ += "null";
}

void JsonWriter::number(double number) {
    if (!std::isfinite(number)) return null();
    before();
    const std::string shortest = number_text(number);
    text_ += shortest;
    if (shortest.find_first_of(".e") == shortest.npos) text_ += ".0";
}

void JsonWriter::value(const JsonValue& tree) {
    if (const JsonValue::Object* members = tree.object()) {
        begin_object();
        for (const JsonValue::Member& each : *members) member(each.key, each.value);
        end_object();
    } else if (const JsonValue::Array* items = tree.array()) {
        begin_array();
        for (const JsonValue& item : *items) value(item);
        end_array();
    } else if (const std::string* text = tree.string()) {
        value(*text);
    } else if (const bool* truth = tree.boolean()) {
        value(*truth);
    } else if (const std::int64_t* integer = tree.integer()) {
        value(*integer);
    } else if (const std::uint64_t* natural = tree.unsigned_integer()) {
        value(*natural);
    } else if (const double* fraction = tree.fraction()) {
        value(*fraction);
    } else {
        null();
    }
}

} // namespace ordo
