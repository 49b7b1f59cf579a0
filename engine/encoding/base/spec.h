// SPDX-License-Identifier: MIT
// Spec strings name encodings everywhere: on the command line, in weight files, in the API.
//   sum     = item { "+" item }
//   item    = name [ ":" key "=" value { "," key "=" value } ] | "pattern(" element { "," element } ")"
//   element = name | "(" sum ")"
// Names and keys are [a-z0-9-]; a value is a word of [a-z0-9-], a plain decimal number (no exponent), or a short list
// of these numbers, 16/24/24. Of a pattern of n elements, layer i has element i modulo n. A pattern cannot contain a
// pattern.
#pragma once

#include "rows.h"

#include <initializer_list>
#include <utility>

namespace ordo {

// One item, e.g. name "rope", values {{"theta", "10000"}}. The getters check the value of a key and mark the key as
// known. finish() refuses all other keys by name.
class SpecItem {
public:
    std::string name;
    std::vector<std::pair<std::string, std::string>> values;
    std::vector<std::vector<SpecItem>> elements; // the elements of a pattern, each a sum; otherwise empty

    bool is_pattern() const { return !elements.empty(); }
    const std::string* find(std::string_view key) const; // null: absent
    void set(std::string_view key, std::string value);

    double number(std::string_view key, double fallback, double least, double most) const;
    int integer(std::string_view key, int fallback, int least, int most) const;
    // A list 16/24/24 of `fewest` to `count` numbers, each from least to most; "none" is the empty list.
    std::vector<double> numbers(std::string_view key, const std::vector<double>& fallback, double least, double most,
                                std::size_t fewest, std::size_t count) const;
    std::string choice(std::string_view key, std::string_view fallback,
                       std::initializer_list<std::string_view> allowed) const;
    // Throws Error(usage) for a key that no getter has read.
    void finish() const;

private:
    const std::string* known(std::string_view key) const; // find(), which finish() then allows
    mutable std::vector<std::string_view> known_;
};

// Throws Error(usage) for a spec above the size limit. `what` is the kind of spec, for the message.
void check_spec_size(std::string_view spec, std::string_view what);

// Throws Error(usage): empty item, bad character, repeated key, missing value, parentheses that are empty or do not
// match, a pattern inside a pattern, over 4,096 bytes.
std::vector<SpecItem> parse_spec(std::string_view spec);

// The items as a spec again.
std::string spec_text(std::span<const SpecItem> items);

// The encoding that a wrong name probably means: the field's other names (NoPE: none) and other spellings (RoPE,
// transformer_xl). Empty if there is none.
std::string likely_name(std::string_view word);

// The part of an item before its keys.
inline std::string_view name_of(std::string_view item) {
    return item.substr(0, item.find(':'));
}

// A candidate that begins with the word, or the one with the fewest edits from it. Empty if none is near: each of at
// most three edits needs more than `letters` letters. With more than 2, a beginning is not enough.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates, std::size_t letters = 2);
// "a, b or c (nearest: b)", for messages about a word that is none of them.
std::string one_of(std::string_view found, std::span<const std::string_view> allowed);

// The shortest plain decimal that reads back as the same double: 10000, 0.1.
std::string decimal(double value);

// Builds a canonical spec: SpecWriter("rope")("theta", 10000.0)("pairing", "adjacent").text()
class SpecWriter {
public:
    explicit SpecWriter(std::string_view name) : text_(name) {}
    SpecWriter& operator()(std::string_view key, double value);
    SpecWriter& operator()(std::string_view key, int value);
    SpecWriter& operator()(std::string_view key, std::string_view value);
    SpecWriter& operator()(std::string_view key, std::span<const double> values);
    const std::string& text() const { return text_; }

private:
    std::string text_;
    char separator_ = ':';
};

} // namespace ordo
