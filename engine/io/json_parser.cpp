// SPDX-License-Identifier: MIT
// Text to events, and events to a tree. Only this file uses nlohmann's parser.
#include "core/error.h"
#include "core/utf8.h"
#include "io/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

namespace ordo {
namespace {

// The header of a weight file is mostly one string, the tokenizer, for each byte of which nlohmann's lexer takes about
// eighty instructions. If such strings with plain escapes are at least half of a text, they are read here, and the
// lexer finds empty ones in their place. `rest` and the values together take at most the size of the text.
struct LongStrings {
    static constexpr std::size_t least = 4096; // bytes
    explicit LongStrings(std::string_view text) {
        if (text.size() < least) return;
        std::size_t cut = 0;
        for (std::size_t number = 0, begin = 0;; ++number) {
            begin = text.find('"', begin);
            std::size_t end = begin == text.npos ? text.size() : ++begin;
            while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
            if (end >= text.size()) break;
            if (end - begin >= least) {
                values.push_back({number, begin - cut, end - begin});
                cut += end - begin;
            }
            begin = end + 1;
        }
        if (cut < text.size() / 2 || !read(text, cut)) values.clear();
    }

    struct Value {
        std::size_t number; // of the string in the text, keys included
        std::size_t place;  // in `rest`, of what is missing
        std::size_t bytes;
        std::string text{};
    };
    std::vector<Value> values;
    std::string rest;

private:
    // Whether the strings have no errors, and no characters by number.
    bool read(std::string_view text, std::size_t cut) {
        rest.reserve(text.size() - cut);
        std::size_t from = 0;
        for (Value& value : values) {
            const std::size_t begin = from + value.place - rest.size(), end = begin + value.bytes;
            rest.append(text, from, begin - from);
            if (!unescape(text.substr(begin, value.bytes), value.text)) return false;
            from = end;
        }
        rest.append(text, from);
        return true;
    }
    static bool unescape(std::string_view from, std::string& to) {
        constexpr std::string_view escapes = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
        bool control = false;
        for (const char c : from) control |= static_cast<unsigned char>(c) < ' ';
        if (control) return false;
        to.reserve(from.size());
        std::size_t i = 0;
        for (std::size_t escape; (escape = from.find('\\', i)) != from.npos; i = escape + 2) {
            const auto which = escapes.find(from[escape + 1]);
            if (which == escapes.npos) return false;
            to.append(from, i, escape - i) += meanings[which];
        }
        to.append(from, i);
        return true;
    }
};

// Adds the limits to nlohmann's SAX interface, which keeps its own stack and does not recurse.
class Guard final : public nlohmann::json_sax<nlohmann::json> {
public:
    Guard(std::string_view text, std::string_view where, const JsonLimits& limits, JsonEvents& events)
        : text_(text), where_(where), limits_(limits), events_(events), long_(text) {}
    void read() {
        const std::string_view text = long_.values.empty() ? text_ : long_.rest;
        nlohmann::json::sax_parse(text.begin(), text.end(), this);
    }

    bool null() override {
        events_.value(JsonValue());
        return true;
    }
    bool boolean(bool value) override { return scalar(value); }
    bool number_integer(number_integer_t value) override { return scalar(value); }
    bool number_unsigned(number_unsigned_t value) override { return scalar(value); }
    bool number_float(number_float_t value, const string_t&) override { return scalar(value); }
    bool string(string_t& value) override {
        restore(value);
        return scalar(std::move(value));
    }
    bool binary(binary_t&) override { fail(ErrorCode::model, where_, ": binary value in JSON"); }

    bool start_object(std::size_t) override {
        open();
        events_.begin_object();
        return true;
    }
    bool key(string_t& name) override {
        restore(name);
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
    bool parse_error(std::size_t byte, const std::string&, const nlohmann::json::exception& error) override {
        const std::size_t in_rest = byte;
        for (const LongStrings::Value& value : long_.values) byte += value.place < in_rest ? value.bytes : 0;
        const std::string_view found = text_.substr(std::min(byte - std::min<std::size_t>(byte, 1), text_.size()));
        for (const std::string_view word : {"Infinity", "NaN"})
            if (found.starts_with(word))
                fail(ErrorCode::model, where_, ": invalid JSON at byte ", byte, ": expected a number, found ", word,
                     ", which Python's json module writes and JSON does not have; write null or a number in its place");
        std::string_view what = error.what();
        if (const auto at = what.find(": "); at != std::string_view::npos) what.remove_prefix(at + 2);
        fail(ErrorCode::model, where_, ": invalid JSON at byte ", byte, ": ", printable(what, 160));
    }

private:
    void restore(string_t& text) { // if it is a long one
        if (next_ < long_.values.size() && long_.values[next_].number == strings_)
            text = std::move(long_.values[next_++].text);
        ++strings_;
    }
    void open() {
        if (++depth_ > limits_.depth) fail(ErrorCode::model, where_, ": JSON nested deeper than ", limits_.depth);
    }
    template <class T>
    bool scalar(T&& value) {
        events_.value(JsonValue(std::forward<T>(value)));
        return true;
    }

    std::string_view text_, where_;
    const JsonLimits& limits_;
    JsonEvents& events_;
    LongStrings long_;
    std::size_t strings_ = 0, next_ = 0; // so far; the next long one
    int depth_ = 0;
};

// The memory of a string outside its object. GNU's allocator adds a word and rounds up to 16 bytes.
std::size_t heap_bytes(const std::string& text) {
    return text.size() < 16 ? 0 : std::max<std::size_t>(32, (text.size() + 1 + 8 + 15) / 16 * 16);
}

} // namespace

// ---- The tree -----------------------------------------------------------------------------------

void JsonTree::begin_object() {
    charge(32);
    open_.push_back(place(JsonValue::empty_object()));
}

void JsonTree::begin_array() {
    charge(32);
    open_.push_back(place(JsonValue::empty_array()));
}

void JsonTree::value(JsonValue&& scalar) {
    if (const std::string* text = scalar.string()) charge(48 + heap_bytes(*text));
    place(std::move(scalar));
}

void JsonTree::key(std::string&& name) {
    charge(3 * sizeof(JsonValue::Member) + heap_bytes(name)); // a full vector doubles its size
    JsonValue::Object& members = *open_.back()->object();
    members.push_back({std::move(name), {}});
    member_ = &members.back().value;
}

// Sorting finds duplicates; no choice of keys can slow it down.
void JsonTree::end_object() {
    JsonValue::Object& members = *open_.back()->object();
    open_.pop_back();
    using Member = const JsonValue::Member*;
    std::vector<Member> sorted;
    sorted.reserve(members.size());
    for (const JsonValue::Member& member : members) sorted.push_back(&member);
    std::sort(sorted.begin(), sorted.end(),
              [](Member a, Member b) { return std::tie(a->key, a) < std::tie(b->key, b); });
    const auto same = [](Member a, Member b) { return a->key == b->key; };
    auto twice = std::adjacent_find(sorted.begin(), sorted.end(), same);
    if (twice == sorted.end()) return;
    if (!repeats_) fail(ErrorCode::model, where_, ": key '", printable((*twice)->key), "' appears twice");
    std::vector<bool> dropped(members.size());
    for (; twice != sorted.end(); twice = std::adjacent_find(twice + 1, sorted.end(), same))
        dropped[static_cast<std::size_t>(*twice - members.data())] = true;
    std::size_t i = 0;
    std::erase_if(members, [&](const JsonValue::Member&) { return dropped[i++]; });
}

// Charges an estimate of the memory of an item, with the allocator's overhead.
void JsonTree::charge(std::size_t bytes) {
    if (bytes > budget_) fail(ErrorCode::model, where_, ": JSON that takes too much memory for its size");
    budget_ -= bytes;
}

// Only the innermost open container grows, so the addresses in open_ stay valid.
JsonValue* JsonTree::place(JsonValue&& value) {
    if (open_.empty()) {
        root_ = std::move(value);
        return &root_;
    }
    if (JsonValue::Array* items = open_.back()->array()) {
        charge(3 * sizeof(JsonValue)); // as above
        items->push_back(std::move(value));
        return &items->back();
    }
    *member_ = std::move(value);
    return member_;
}

// ---- Parsing ------------------------------------------------------------------------------------

void parse_json(std::string_view text, std::string_view where, const JsonLimits& limits, JsonEvents& events) {
    if (text.size() > limits.bytes)
        fail(ErrorCode::model, where, ": JSON of ", text.size(), " bytes, allowed are ", limits.bytes);
    if (text.starts_with("\xef\xbb\xbf")) fail(ErrorCode::model, where, ": JSON starts with a byte order mark");
    if (!utf8_valid(text)) fail(ErrorCode::model, where, ": JSON is not valid UTF-8");
    // JSON allows no NUL anywhere, but nlohmann's lexer takes a NUL as the end of the text.
    if (const auto at = text.find('\0'); at != std::string_view::npos)
        fail(ErrorCode::model, where, ": invalid JSON at byte ", at, ": a NUL byte");
    Guard(text, where, limits, events).read();
}

JsonValue parse_json(std::string_view text, std::string_view where, const JsonLimits& limits) {
    JsonTree tree(where, text.size(), limits.repeats);
    parse_json(text, where, limits, tree);
    return tree.take();
}

} // namespace ordo
