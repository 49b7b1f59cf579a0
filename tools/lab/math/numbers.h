// SPDX-License-Identifier: MIT
// Double-precision arithmetic for several experiments, and figures for their sentences. A file that includes this
// header has <algorithm>, <cmath>, <numbers> and <sstream> from it.
#pragma once

#include "core/random.h"
#include "rows.h"
#include "tools/terminal/output.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <sstream>

namespace ordo::lab {

using tools::Cell;
using tools::Figures;
using Vector = std::vector<double>;

// For rows of floats or doubles, of one length.
template <class A, class B>
double dot(const A& a, const B& b) {
    double sum = 0;
    for (std::size_t i = 0; i < std::size(a); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    return sum;
}
template <class A>
double norm(const A& a) {
    return std::sqrt(dot(a, a));
}
template <class A, class B>
double cosine(const A& a, const B& b) {
    return dot(a, b) / (norm(a) * norm(b));
}
template <class A, class B>
double distance(const A& a, const B& b) {
    double sum = 0;
    for (std::size_t i = 0; i < std::size(a); ++i) {
        const double d = static_cast<double>(a[i]) - static_cast<double>(b[i]);
        sum += d * d;
    }
    return std::sqrt(sum);
}
// The largest absolute difference; infinite if the lengths differ.
template <class A, class B>
double largest_difference(const A& a, const B& b) {
    if (std::size(a) != std::size(b)) return HUGE_VAL;
    double most = 0;
    for (std::size_t i = 0; i < std::size(a); ++i) {
        const double d = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
        most = d <= most ? most : d; // keeps a NaN
    }
    return most;
}

template <class A>
Vector softmax(const A& scores) {
    Vector p(std::begin(scores), std::end(scores));
    const double most = *std::max_element(p.begin(), p.end());
    double sum = 0;
    for (double& x : p) sum += x = std::exp(x - most);
    for (double& x : p) x /= sum;
    return p;
}

inline std::span<float> row_span(View v, int i) {
    return {v.row(i), static_cast<std::size_t>(v.cols)};
}

// a - b, element by element.
inline Vector minus(Vector a, const Vector& b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] -= b[i];
    return a;
}

// The places of the values, from that of the smallest on.
inline std::vector<std::size_t> ranked(const Vector& values) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
    return order;
}

// An angle modulo whole turns, in (-pi, pi].
inline double turned(double angle) {
    return std::remainder(angle, 2 * std::numbers::pi);
}

// Running mean and spread (Welford 1962), the smallest and the largest value.
class Sample {
public:
    void add(double x) {
        ++n_;
        least_ = std::min(least_, x), most_ = std::max(most_, x);
        const double d = x - mean_;
        mean_ += d / static_cast<double>(n_);
        squares_ += d * (x - mean_);
    }
    std::int64_t count() const { return n_; }
    double mean() const { return mean_; }
    double least() const { return least_; }
    double most() const { return most_; }
    double deviation() const { return n_ < 2 ? std::nan("") : std::sqrt(squares_ / static_cast<double>(n_ - 1)); }
    double standard_error() const { return deviation() / std::sqrt(static_cast<double>(n_)); }

private:
    std::int64_t n_ = 0;
    double mean_ = 0, squares_ = 0, least_ = HUGE_VAL, most_ = -HUGE_VAL;
};

template <class Values>
Sample sample_of(const Values& values) {
    Sample sample;
    for (const auto v : values) sample.add(static_cast<double>(v));
    return sample;
}

// Standard normal numbers for a seed and a stream.
inline std::vector<float> normal_floats(std::size_t n, std::uint64_t seed, std::uint64_t stream, double deviation = 1) {
    const Random random(seed, stream);
    std::vector<float> out(n);
    for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<float>(deviation * random.normal(i));
    return out;
}

// A number for a sentence, rounded to significant digits; "-" for NaN.
inline std::string figure(double value, int digits = 3) {
    return std::isnan(value) ? "-" : rounded_text(value, digits);
}

// " +- 0.1" of an interval; empty if it is unknown.
inline std::string margin(double half, int digits = 2) {
    return std::isnan(half) ? "" : " +- " + figure(half, digits);
}

template <class... Parts>
std::string text(const Parts&... parts) {
    std::ostringstream out;
    out.imbue(std::locale::classic());
    (out << ... << parts);
    return out.str();
}

// A sentence with each {} filled by the next part.
template <class... Parts>
std::string told(std::string_view sentence, const Parts&... parts) {
    const std::string filled[] = {text(parts)..., ""};
    std::string out;
    std::size_t next = 0;
    for (std::size_t at = 0; at < sentence.size(); ++at)
        if (sentence.substr(at, 2) == "{}" && next < sizeof...(parts))
            out += filled[next++], ++at;
        else
            out += sentence[at];
    return out;
}

// An encoding's name in a sentence.
inline std::string in_text(const std::string& encoding) {
    return encoding == "none" ? "`none`" : encoding;
}

// "1 seed", "3 seeds".
inline std::string counted(std::size_t n, const char* name) {
    return text(n, " ", name, n == 1 ? "" : "s");
}

// A list for a sentence.
inline std::string or_none(const std::string& list) {
    return list.empty() ? "none of them" : list;
}

// Makes "a, b" of "a".
inline void append(std::string& list, std::string_view item, std::string_view separator = ", ") {
    if (!list.empty()) list += separator;
    list += item;
}

// A list with its heading; nothing for an empty one.
inline std::string listed(std::string_view heading, const std::string& list, std::string_view end = "") {
    return list.empty() ? "" : text(heading, list, end);
}

// Appends the cells of a row: one for a text or a number (blank if it is NaN), several for a list or for a struct with
// an overload of its own (statistics.h).
template <class Part>
void put(std::vector<Cell>& row, const Part& part) {
    if constexpr (std::is_same_v<Part, Cell> || std::is_same_v<Part, bool>)
        row.emplace_back(part);
    else if constexpr (std::is_convertible_v<const Part&, std::string_view>)
        row.emplace_back(std::string(part));
    else if constexpr (std::is_integral_v<Part>)
        row.emplace_back(static_cast<std::int64_t>(part));
    else if constexpr (std::is_floating_point_v<Part>)
        row.push_back(std::isnan(part) ? Cell() : Cell(static_cast<double>(part)));
    else
        for (const auto& one : part) put(row, one);
}

// Cells that are not given stay blank.
template <class... Parts>
void add_row(Figures& figures, const Parts&... parts) {
    std::vector<Cell>& row = figures.rows.emplace_back();
    row.reserve(figures.columns.size());
    (put(row, parts), ...);
    row.resize(std::max(row.size(), figures.columns.size()));
}

// Replaces the cells of a row from one on.
template <class... Parts>
void set(std::vector<Cell>& row, std::size_t first, const Parts&... parts) {
    std::vector<Cell> cells;
    (put(cells, parts), ...);
    std::move(cells.begin(), cells.end(), row.begin() + static_cast<std::ptrdiff_t>(first));
}

} // namespace ordo::lab
