// SPDX-License-Identifier: MIT
// Double-precision arithmetic for several experiments, and figures for their sentences. A file that includes this
// header has <algorithm>, <cmath>, <numbers> and <sstream> from it.
#pragma once

#include "core/random.h"
#include "ordo.h"
#include "tools/terminal/output.h"

#include <algorithm>
#include <cmath>
#include <numbers>
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

// An angle modulo whole turns, in (-pi, pi].
inline double turned(double angle) {
    return std::remainder(angle, 2 * std::numbers::pi);
}

// Running mean and spread (Welford 1962).
class Sample {
public:
    void add(double x) {
        ++n_;
        const double d = x - mean_;
        mean_ += d / static_cast<double>(n_);
        squares_ += d * (x - mean_);
    }
    std::int64_t count() const { return n_; }
    double mean() const { return mean_; }
    double deviation() const { return n_ < 2 ? std::nan("") : std::sqrt(squares_ / static_cast<double>(n_ - 1)); }
    double standard_error() const { return deviation() / std::sqrt(static_cast<double>(n_)); }

private:
    std::int64_t n_ = 0;
    double mean_ = 0, squares_ = 0;
};

inline Sample sample_of(std::span<const double> values) {
    Sample sample;
    for (const double v : values) sample.add(v);
    return sample;
}

struct Difference {
    double mean = 0, error = 0; // the mean's standard error
};
// The difference of paired numbers.
inline Difference difference(std::span<const double> a, std::span<const double> b) {
    Sample sample;
    for (std::size_t i = 0; i < a.size(); ++i) sample.add(a[i] - b[i]);
    return {sample.mean(), sample.standard_error()};
}

// Standard normal numbers for a seed and a stream.
inline std::vector<float> normal_floats(std::size_t n, std::uint64_t seed, std::uint64_t stream, double deviation = 1) {
    const Random random(seed, stream);
    std::vector<float> out(n);
    for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<float>(deviation * random.normal(i));
    return out;
}

// A number for a sentence, rounded to significant digits.
inline std::string figure(double value, int digits = 3) {
    return rounded_text(value, digits);
}

// An unknown interval leaves a table's cell blank, and a sentence without an interval.
inline Cell known(double value) {
    return std::isnan(value) ? Cell() : Cell(value);
}
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

// Makes "a, b" of "a".
inline void append(std::string& list, std::string_view item, std::string_view separator = ", ") {
    if (!list.empty()) list += separator;
    list += item;
}

} // namespace ordo::lab
