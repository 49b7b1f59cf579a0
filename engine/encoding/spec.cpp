// SPDX-License-Identifier: MIT
#include "encoding/spec.h"

#include "core/error.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace ordo {
namespace {

constexpr std::size_t max_spec_bytes = 4096;

// Not std::islower and std::isdigit: they ask the locale.
bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool is_word(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(),
                                        [](char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || c == '-'; });
}

// [-]digits[.digits]
bool is_decimal(std::string_view text) {
    if (text.starts_with('-')) text.remove_prefix(1);
    const std::size_t point = text.find('.');
    const std::string_view whole = text.substr(0, point);
    const std::string_view fraction = point == text.npos ? "0" : text.substr(point + 1);
    return !whole.empty() && !fraction.empty() && std::all_of(whole.begin(), whole.end(), is_digit) &&
           std::all_of(fraction.begin(), fraction.end(), is_digit);
}

// What comes before the separator, which is removed along with it; everything if there is none.
std::string_view take_until(std::string_view& rest, char separator, bool& more) {
    const std::size_t end = rest.find(separator);
    const std::string_view part = rest.substr(0, end);
    more = end != rest.npos;
    rest.remove_prefix(more ? end + 1 : rest.size());
    return part;
}

SpecItem parse_item(std::string_view text) {
    bool more = false;
    SpecItem item;
    item.name = take_until(text, ':', more);
    if (item.name.empty()) fail(ErrorCode::usage, "encoding spec: expected the name of an encoding, found nothing");
    if (!is_word(item.name))
        fail(ErrorCode::usage, "encoding spec: expected a name of a-z, 0-9 and -, found '", printable(item.name), "'");
    while (more) {
        std::string_view pair = take_until(text, ',', more);
        bool has_value = false;
        const std::string_view key = take_until(pair, '=', has_value);
        if (!is_word(key))
            fail(ErrorCode::usage, printable(item.name), ": expected a key of a-z, 0-9 and -, found '", printable(key),
                 "'");
        if (!has_value || pair.empty())
            fail(ErrorCode::usage, printable(item.name), ": key '", printable(key),
                 "': expected '=' and a value, found nothing");
        if (!is_word(pair) && !is_decimal(pair))
            fail(ErrorCode::usage, printable(item.name), ": ", printable(key),
                 ": expected a word of a-z, 0-9 and - or a plain decimal number, found '", printable(pair), "'");
        for (const auto& [other, value] : item.values)
            if (other == key)
                fail(ErrorCode::usage, printable(item.name), ": key '", printable(key), "' is given twice");
        item.values.emplace_back(key, pair);
    }
    return item;
}

} // namespace

std::vector<SpecItem> parse_spec(std::string_view spec) {
    if (spec.size() > max_spec_bytes)
        fail(ErrorCode::usage, "encoding spec: expected at most ", max_spec_bytes, " bytes, found ", spec.size());
    std::vector<SpecItem> items;
    for (bool more = true; more;) items.push_back(parse_item(take_until(spec, '+', more)));
    return items;
}

const std::string* SpecItem::find(std::string_view key) const {
    known_.push_back(key);
    for (const auto& [name_of, value] : values)
        if (name_of == key) return &value;
    return nullptr;
}

double SpecItem::number(std::string_view key, double fallback, double least, double most) const {
    const std::string* text = find(key);
    double value = fallback;
    bool good = true;
    if (text) {
        const char* end = text->data() + text->size();
        good =
            is_decimal(*text) && std::from_chars(text->data(), end, value, std::chars_format::fixed).ec == std::errc();
    }
    if (!good || !(value >= least && value <= most))
        fail(ErrorCode::usage, name, ": ", key, ": expected a plain decimal number from ", decimal(least), " to ",
             decimal(most), ", found ", text ? printable(*text) : decimal(value));
    return value + 0.0; // -0 becomes 0
}

int SpecItem::integer(std::string_view key, int fallback, int least, int most) const {
    const std::string* text = find(key);
    int value = fallback;
    bool good = true;
    if (text) {
        const char* end = text->data() + text->size();
        const auto [stop, error] = std::from_chars(text->data(), end, value);
        good = error == std::errc() && stop == end;
    }
    if (!good || value < least || value > most)
        fail(ErrorCode::usage, name, ": ", key, ": expected a whole number from ", least, " to ", most, ", found ",
             text ? printable(*text) : std::to_string(value));
    return value;
}

std::string SpecItem::choice(std::string_view key, std::string_view fallback,
                             std::initializer_list<std::string_view> allowed) const {
    const std::string* text = find(key);
    if (!text) return std::string(fallback);
    if (std::find(allowed.begin(), allowed.end(), *text) == allowed.end()) {
        const std::vector<std::string_view> words(allowed);
        fail(ErrorCode::usage, name, ": ", key, ": expected ", one_of(*text, words), ", found '", printable(*text),
             "'");
    }
    return *text;
}

void SpecItem::finish() const {
    for (const auto& [key, value] : values) {
        if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
        if (known_.empty()) fail(ErrorCode::usage, name, ": unknown key '", printable(key), "': it has no parameters");
        fail(ErrorCode::usage, name, ": unknown key '", printable(key), "': expected ", one_of(key, known_));
    }
}

std::string one_of(std::string_view found, std::span<const std::string_view> allowed) {
    std::string text;
    for (std::size_t i = 0; i < allowed.size(); ++i) {
        if (i > 0) text += i + 1 == allowed.size() ? " or " : ", ";
        text += allowed[i];
    }
    const std::string_view best = nearest(found, allowed);
    if (!best.empty() && allowed.size() > 1) text.append(" (nearest: ").append(best).append(")");
    return text;
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
    std::string_view best;
    std::size_t best_distance = 4; // further than three edits is no likeness
    if (word.size() > 64) return best;
    for (const std::string_view candidate : candidates) {
        // Levenshtein 1966, one row of the table at a time.
        std::vector<std::size_t> row(candidate.size() + 1);
        for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
        for (std::size_t i = 0; i < word.size(); ++i) {
            std::size_t diagonal = row[0];
            row[0] = i + 1;
            for (std::size_t j = 0; j < candidate.size(); ++j) {
                const std::size_t replaced = diagonal + (word[i] == candidate[j] ? 0 : 1);
                diagonal = row[j + 1];
                row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
            }
        }
        if (row.back() < best_distance && row.back() < candidate.size()) {
            best_distance = row.back();
            best = candidate;
        }
    }
    return best;
}

std::string decimal(double value) {
    std::array<char, 1100> buffer; // the smallest double has 1,074 places
    const auto [end, error] =
        std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed);
    if (error != std::errc() || !std::isfinite(value))
        fail(ErrorCode::usage, "encoding spec: expected a finite number");
    return {buffer.data(), end};
}

SpecWriter& SpecWriter::operator()(std::string_view key, std::string_view value) {
    text_.append(1, separator_).append(key).append(1, '=').append(value);
    separator_ = ',';
    return *this;
}

SpecWriter& SpecWriter::operator()(std::string_view key, double value) {
    return (*this)(key, std::string_view(decimal(value)));
}

SpecWriter& SpecWriter::operator()(std::string_view key, int value) {
    return (*this)(key, std::string_view(std::to_string(value)));
}

} // namespace ordo
