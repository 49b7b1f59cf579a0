// SPDX-License-Identifier: MIT
// Spec strings name encodings everywhere: on the command line, in weight files, in the API.
//   sum  = item { "+" item }
//   item = name [ ":" key "=" value { "," key "=" value } ]
// Names and keys are [a-z0-9-]; a value is a word of [a-z0-9-] or a plain decimal number (no exponent).
#pragma once

#include "ordo.h"

#include <initializer_list>
#include <utility>

namespace ordo {

// One item, e.g. name "rope", values {{"theta", "10000"}}. The getters take a key, check its value
// and mark it as known; finish() refuses by name whatever is left.
class SpecItem {
public:
    std::string name;
    std::vector<std::pair<std::string, std::string>> values;

    double number(std::string_view key, double fallback, double least, double most) const;
    int integer(std::string_view key, int fallback, int least, int most) const;
    std::string choice(std::string_view key, std::string_view fallback,
                       std::initializer_list<std::string_view> allowed) const;
    // Throws Error(usage) for a key that no getter asked for.
    void finish() const;

private:
    const std::string* find(std::string_view key) const;
    mutable std::vector<std::string_view> known_;
};

// Throws Error(usage): empty item, bad character, repeated key, missing value, over 4,096 bytes.
std::vector<SpecItem> parse_spec(std::string_view spec);

// The candidate that differs from word by the fewest edits, or nothing if none is near.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);
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
    const std::string& text() const { return text_; }

private:
    std::string text_;
    char separator_ = ':';
};

} // namespace ordo
