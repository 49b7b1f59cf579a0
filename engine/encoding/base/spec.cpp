// SPDX-License-Identifier: MIT
#include "encoding/base/spec.h"

#include "core/error.h"
#include "encoding/base/registry.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>

namespace ordo {
namespace {

// std::islower and std::isdigit depend on the locale, so they are not used.
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

// text must satisfy is_decimal.
bool read_decimal(std::string_view text, double& value) {
    return std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed).ec == std::errc();
}

// 16/24/24
bool is_list(std::string_view text) {
    for (bool more = true; more;) {
        const std::size_t end = text.find('/');
        if (!is_decimal(text.substr(0, end))) return false;
        more = end != text.npos;
        if (more) text.remove_prefix(end + 1);
    }
    return true;
}

// Removes the text before the first separator outside parentheses from rest, together with the separator, and returns
// it. Without such a separator, that is all of rest.
std::string_view take_until(std::string_view& rest, char separator, bool& more) {
    std::size_t end = 0;
    for (int depth = 0; end < rest.size() && (depth > 0 || rest[end] != separator); ++end)
        depth += rest[end] == '(' ? 1 : rest[end] == ')' ? -1 : 0;
    const std::string_view part = rest.substr(0, end);
    more = end < rest.size();
    rest.remove_prefix(more ? end + 1 : rest.size());
    return part;
}

// Checks that parentheses match, so that later steps can rely on it.
void check_parentheses(std::string_view spec) {
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < spec.size(); ++i) {
        if (spec[i] == '(') {
            open.push_back(i);
        } else if (spec[i] == ')') {
            if (open.empty()) fail(ErrorCode::usage, "encoding spec: ')' at byte ", i, ": expected a '(' before it");
            open.pop_back();
        }
    }
    if (!open.empty())
        fail(ErrorCode::usage, "encoding spec: '(' at byte ", open.back(), ": expected a ')' after it, found the end");
}

// The text inside the parenthesis at the start of text. Its partner has to be the last character.
std::string_view inside_parentheses(std::string_view text) {
    int depth = 0;
    std::size_t i = 0;
    do depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    while (++i < text.size() && depth > 0);
    if (i < text.size())
        fail(ErrorCode::usage, "encoding spec: after ')': expected '+', ',' or the end, found '",
             printable(text.substr(i)), "'");
    return text.substr(1, text.size() - 2);
}

std::vector<SpecItem> parse_sum(std::string_view text, bool in_pattern);

std::vector<SpecItem> parse_element(std::string_view text) {
    if (text.starts_with('(')) return parse_sum(inside_parentheses(text), true);
    if (text.find_first_of(":+=") != text.npos && text.find('(') == text.npos)
        fail(ErrorCode::usage, "pattern: expected a name alone, or a sum in parentheses: (", printable(text),
             "), found '", printable(text), "'");
    return parse_sum(text, true);
}

SpecItem parse_pattern(std::string_view text) {
    SpecItem item;
    item.name = "pattern";
    std::string_view rest = inside_parentheses(text);
    if (rest.empty()) fail(ErrorCode::usage, "pattern: expected encodings in its parentheses, found none");
    for (bool more = true; more;) item.elements.push_back(parse_element(take_until(rest, ',', more)));
    return item;
}

// "; did you mean rope:theta=10000?" for a value without a key: the first parameter that takes it. Empty: none does.
std::string likely_pair(const std::string& name, std::string_view value) {
    double number = 0;
    const bool is_number = is_decimal(value) && read_decimal(value, number);
    for (const EncodingInfo* info : registered_encodings()) {
        if (info->name != name) continue;
        for (const Parameter& p : parameters_of(*info))
            if (is_number ? number >= p.least && number <= p.most && (!p.whole || number == std::floor(number))
                          : std::find(p.words.begin(), p.words.end(), value) != p.words.end())
                return "; did you mean " + name + ":" + p.name + "=" + std::string(value) + "?";
    }
    return {};
}

void parse_value(SpecItem& item, std::string_view pair) {
    bool has_value = false;
    const std::string_view key = take_until(pair, '=', has_value);
    if (const std::string meant = has_value ? "" : likely_pair(item.name, key); !meant.empty())
        fail(ErrorCode::usage, item.name, ": '", printable(key), "': expected KEY=VALUE", meant);
    if (!is_word(key))
        fail(ErrorCode::usage, printable(item.name), ": expected a key of a-z, 0-9 and -, found '", printable(key),
             "'");
    if (!has_value || pair.empty())
        fail(ErrorCode::usage, printable(item.name), ": key '", printable(key),
             "': expected '=' and a value, found nothing");
    if (!is_word(pair) && !is_list(pair))
        fail(ErrorCode::usage, printable(item.name), ": ", printable(key),
             ": expected a word of a-z, 0-9 and -, a plain decimal number or a list 1/2/3, found '", printable(pair),
             "'");
    for (const auto& [other, value] : item.values)
        if (other == key) fail(ErrorCode::usage, printable(item.name), ": key '", printable(key), "' is given twice");
    item.values.emplace_back(key, pair);
}

SpecItem parse_item(std::string_view text, bool in_pattern) {
    const std::string_view name = text.substr(0, text.find_first_of(":("));
    if (name.empty())
        fail(ErrorCode::usage, "encoding spec: expected the name of an encoding, found ",
             text.empty() ? "nothing" : "'" + printable(text) + "'");
    if (name.find_first_of(",;") != name.npos)
        fail(ErrorCode::usage, "encoding spec: expected one encoding, found the list '", printable(name),
             "'; rope+alibi adds two encodings, and --encodings compares several");
    if (!is_word(name)) {
        const std::string likely = likely_name(name);
        fail(ErrorCode::usage, "encoding spec: expected a name of a-z, 0-9 and -, found '", printable(name), "'",
             likely.empty() ? "" : "; did you mean " + likely + "?");
    }
    text.remove_prefix(name.size());
    if (name == "pattern") {
        if (in_pattern) fail(ErrorCode::usage, "pattern: expected encodings, found a pattern inside a pattern");
        if (!text.starts_with('('))
            fail(ErrorCode::usage, "pattern: expected encodings in parentheses: pattern(rope,none), found ",
                 text.empty() ? "nothing" : "'" + printable(text) + "'");
        return parse_pattern(text);
    }
    SpecItem item;
    item.name = name;
    if (text.empty()) return item;
    if (text.front() == '(') fail(ErrorCode::usage, printable(name), ": expected ':' or the end, found '('");
    text.remove_prefix(1);
    for (bool more = true; more;) parse_value(item, take_until(text, ',', more));
    return item;
}

std::vector<SpecItem> parse_sum(std::string_view text, bool in_pattern) {
    std::vector<SpecItem> items;
    for (bool more = true; more;) items.push_back(parse_item(take_until(text, '+', more), in_pattern));
    return items;
}

} // namespace

void check_spec_size(std::string_view spec, std::string_view what) {
    constexpr std::size_t most = 4096;
    if (spec.size() > most) fail(ErrorCode::usage, what, ": expected at most ", most, " bytes, found ", spec.size());
}

std::vector<SpecItem> parse_spec(std::string_view spec) {
    check_spec_size(spec, "encoding spec");
    check_parentheses(spec);
    return parse_sum(spec, false);
}

const std::string* SpecItem::find(std::string_view key) const {
    for (const auto& [own, value] : values)
        if (own == key) return &value;
    return nullptr;
}

void SpecItem::set(std::string_view key, std::string value) {
    for (auto& [own, old] : values) {
        if (own != key) continue;
        old = std::move(value);
        return;
    }
    values.emplace_back(key, std::move(value));
}

const std::string* SpecItem::known(std::string_view key) const {
    known_.push_back(key);
    return find(key);
}

double SpecItem::number(std::string_view key, double fallback, double least, double most) const {
    const std::string* text = known(key);
    double value = fallback;
    bool good = true;
    if (text) good = is_decimal(*text) && read_decimal(*text, value);
    if (!good || !(value >= least && value <= most))
        fail(ErrorCode::usage, name, ": ", key, ": expected a plain decimal number from ", decimal(least), " to ",
             decimal(most), ", found ", text ? printable(*text) : decimal(value));
    return value + 0.0; // -0 becomes 0
}

int SpecItem::integer(std::string_view key, int fallback, int least, int most) const {
    const std::string* text = known(key);
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

std::vector<double> SpecItem::numbers(std::string_view key, const std::vector<double>& fallback, double least,
                                      double most, std::size_t fewest, std::size_t count) const {
    const std::string* text = known(key);
    if (!text) return fallback;
    std::vector<double> list;
    bool good = is_list(*text);
    std::string_view rest = *text;
    for (bool more = good; more;) {
        double value = 0;
        good = read_decimal(take_until(rest, '/', more), value) && value >= least && value <= most && good;
        list.push_back(value + 0.0); // -0 becomes 0
    }
    good = good || *text == "none";
    if (!good || list.size() < fewest || list.size() > count)
        fail(ErrorCode::usage, name, ": ", key, ": expected ", fewest, " to ", count, " numbers from ", decimal(least),
             " to ", decimal(most), ", as 1/2/3, found ", printable(*text));
    return list;
}

std::string SpecItem::choice(std::string_view key, std::string_view fallback,
                             std::initializer_list<std::string_view> allowed) const {
    const std::string* text = known(key);
    if (!text) return std::string(fallback);
    if (std::find(allowed.begin(), allowed.end(), *text) == allowed.end()) {
        const std::vector<std::string_view> words(allowed);
        fail(ErrorCode::usage, name, ": ", key, ": expected ", one_of(*text, words), ", found '", printable(*text),
             "'");
    }
    return *text;
}

namespace {

// Other names of parameters.
constexpr std::pair<std::string_view, std::string_view> keys_elsewhere[] = {
    {"base", "theta"},          {"freq-base", "theta"},
    {"rope-theta", "theta"},    {"theta", "base"},
    {"scale", "factor"},        {"type", "scaling"},
    {"rope-type", "scaling"},   {"style", "pairing"},
    {"layout", "pairing"},      {"dim", "width"},
    {"rotary-dim", "width"},    {"num-buckets", "buckets"},
    {"max-distance", "clip"},   {"max-distance", "distance"},
    {"length", "positions"},    {"max-length", "length"},
    {"max-position", "length"}, {"positions", "length"},
    {"segments", "count"},      {"slope", "scale"}};

} // namespace

void SpecItem::finish() const {
    for (const auto& [key, value] : values) {
        if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
        if (known_.empty()) fail(ErrorCode::usage, name, ": unknown key '", printable(key), "': it has no parameters");
        for (const auto& [theirs, ours] : keys_elsewhere)
            if (key == theirs && std::find(known_.begin(), known_.end(), ours) != known_.end())
                fail(ErrorCode::usage, name, ": unknown key '", key, "'; did you mean ", ours, "?");
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

std::string spec_text(std::span<const SpecItem> items) {
    std::string text;
    for (const SpecItem& item : items) {
        text += (text.empty() ? "" : "+") + item.name;
        char separator = ':';
        for (const auto& [key, value] : item.values) {
            text += separator + key + "=" + value;
            separator = ',';
        }
        for (std::size_t i = 0; i < item.elements.size(); ++i)
            text += (i == 0 ? "((" : ",(") + spec_text(item.elements[i]) + ")";
        if (item.is_pattern()) text += ")";
    }
    return text;
}

std::string likely_name(std::string_view word) {
    static constexpr std::pair<std::string_view, std::string_view> elsewhere[] = {
        {"nope", "none"},
        {"rotary", "rope"},
        {"sine", "sinusoidal"},
        {"sin", "sinusoidal"},
        {"absolute", "learned"},
        {"t5-bias", "t5"},
        {"yarn", "rope:scaling=yarn"},
        {"relative", "shaw, t5 or transformer-xl"}};
    std::string name(word);
    for (char& c : name) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
        if (c == '_') c = '-';
    }
    for (const auto& [theirs, ours] : elsewhere)
        if (name == theirs) return std::string(ours);
    const auto encodings = registered_encodings();
    const auto is_it = [&](const EncodingInfo* info) { return info->name == name; };
    return std::any_of(encodings.begin(), encodings.end(), is_it) ? name : std::string();
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates, std::size_t letters) {
    std::string_view best;
    std::size_t best_distance = 4;
    if (word.size() > 64) return best;
    for (const std::string_view candidate : candidates)
        if (letters == 2 && word.size() >= 3 && candidate.starts_with(word)) return candidate;
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
        if (row.back() < best_distance && letters * row.back() < candidate.size()) {
            best_distance = row.back();
            best = candidate;
        }
    }
    return best;
}

std::string decimal(double value) {
    if (!std::isfinite(value)) fail(ErrorCode::usage, "encoding spec: expected a finite number");
    return number_text(value, std::chars_format::fixed);
}

SpecWriter& SpecWriter::operator()(std::string_view key, std::string_view value) {
    text_.append(1, separator_).append(key).append(1, '=').append(value);
    separator_ = ',';
    return *this;
}

SpecWriter& SpecWriter::operator()(std::string_view key, std::span<const double> values) {
    std::string text;
    for (const double value : values) text += (text.empty() ? "" : "/") + decimal(value);
    return (*this)(key, std::string_view(text.empty() ? "none" : text));
}

SpecWriter& SpecWriter::operator()(std::string_view key, double value) {
    return (*this)(key, std::string_view(decimal(value)));
}

SpecWriter& SpecWriter::operator()(std::string_view key, int value) {
    return (*this)(key, std::string_view(std::to_string(value)));
}

} // namespace ordo
