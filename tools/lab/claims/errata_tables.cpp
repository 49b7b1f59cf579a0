// SPDX-License-Identifier: MIT
#include "tools/lab/claims/errata.h"
#include "tools/lab/claims/slips.h"
#include "tools/lab/study/encodings.h"

#include "encoding/base/rotation.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace ordo::lab {
namespace {

Values class_test() {
    const std::vector<Vector> wrong = table_without_parentheses(10, 6);
    const Table right = sinusoidal_table(6, 10);
    double slow = 0, right_slow = 0;
    for (std::size_t p = 0; p + 1 < wrong.size(); ++p) {
        slow = std::max(slow, largest_difference(std::span(wrong[p]).subspan(2), std::span(wrong[p + 1]).subspan(2)));
        right_slow = std::max(right_slow, largest_difference(std::span(right.rows[p]).subspan(2),
                                                             std::span(right.rows[p + 1]).subspan(2)));
    }
    return {text(wrong[1].size()),  text(right.rows[1].size()), figure(wrong[1][0], 5), figure(wrong[1][1], 5),
            figure(wrong[1][2], 5), figure(wrong[1][4], 5),     figure(slow, 2),        figure(right_slow, 2)};
}

Values periods() {
    const Table table = sinusoidal_table(8, 128);
    int nearest_is_63 = 0;
    for (std::size_t i = 0; i < 128; ++i) {
        std::size_t best = i == 0 ? 1 : 0;
        for (std::size_t j = 0; j < 128; ++j)
            if (j != i && distance(table.rows[i], table.rows[j]) < distance(table.rows[i], table.rows[best])) best = j;
        nearest_is_63 += std::max(i, best) - std::min(i, best) == 63;
    }
    const Table wide = sinusoidal_table(512, 64);
    const auto apart = [](const Table& t, std::size_t offset) { return figure(distance(t.rows[0], t.rows[offset])); };
    return {apart(table, 6), apart(table, 63), apart(table, 1), text(nearest_is_63),
            apart(wide, 1),  apart(wide, 6),   apart(wide, 63)};
}

Values near_collisions() {
    const Vector angles = column_of(sinusoidal_table(8, 711, "angle"), 0);
    const Table wide = sinusoidal_table(128, 711);
    const auto apart = [&wide](std::size_t offset) { return figure(distance(wide.rows[0], wide.rows[offset])); };
    return {figure(std::abs(turned(angles[710])), 2), figure(std::abs(turned(angles[44]))), apart(44), apart(710),
            apart(1)};
}

Values late_dimensions() {
    const LooseEncoding encoding("sinusoidal:scale=1", dims_of(512));
    const auto range = [&](int rows, int step, std::size_t column) {
        double least = 1, most = -1;
        for (int p = 0; p < rows; p += step) {
            const double v = encoding.table(1, {}, p).rows[0][column];
            least = std::min(least, v);
            most = std::max(most, v);
        }
        return text("[", figure(least, 5), ", ", figure(most, 5), "]");
    };
    return {range(65000, 50, 510), range(100, 1, 510), range(100, 1, 511), range(65000, 50, 511)};
}

Values doubled_exponent() {
    // theta -> theta^2: 10000^(-2 (2k) / d)
    const LooseEncoding right("rope", dims_of(128)), wrong("rope:theta=100000000", dims_of(128));
    const Vector f = column_of(right.table(1, "frequency"), 1), g = column_of(wrong.table(1, "frequency"), 1);
    const auto below = [](const Vector& v) {
        return std::count_if(v.begin(), v.end(), [](double w) { return w < 1.000001e-4; });
    };
    return {text(below(g)), text(g.size()), text(below(f)), figure(g.back(), 2), figure(f.back(), 2)};
}

Values circle() {
    const Table table = sinusoidal_table(2, 9);
    double off = 0, step = 0;
    for (std::size_t p = 1; p < table.rows.size(); ++p) {
        off = std::max(off, std::abs(norm(table.rows[p]) - 1));
        step += std::acos(cosine(table.rows[p - 1], table.rows[p])) / 8;
    }
    return {figure(off), figure(step, 6)};
}

Values segments(std::uint64_t seed) {
    std::vector<float> x(10 * 8);
    const View rows = view(x.data(), 10, 8);
    LooseEncoding("segment", dims_of(8), seed).embed(rows);
    double most = 0;
    for (int i = 1; i < 10; ++i) most = std::max(most, largest_difference(row_span(rows, 0), row_span(rows, i)));
    const Table table = sinusoidal_table(8, 5);
    return {figure(most), text(table.rows.size()), text(table.rows[0].size()),
            text(sinusoidal_table(8, 1, "div_term").rows.size())};
}

Values norms() {
    constexpr int d = 512;
    const double pe = norm(sinusoidal_table(d, 1).rows[0]);
    return {figure(pe), figure(pe / std::sqrt(d))};
}

// The length of a row, the largest value of the table, and the scale sqrt(d) of the words.
Values overshadows() {
    constexpr int d = 512;
    const Table table = sinusoidal_table(d, 100);
    double most = 0;
    for (const auto& row : table.rows)
        for (const double value : row) most = std::max(most, std::abs(value));
    const double pe = norm(table.rows[0]);
    return {figure(pe), figure(most), figure(std::sqrt(d))};
}

// The query PE(p) rotated by 5 positions asks for the word 5 places on. Each pair scores cos(w (k - 5)) at offset k.
Values fives() {
    const Table table = sinusoidal_table(512, 16);
    const auto score = [&](std::size_t from_five) { return figure(dot(table.rows[0], table.rows[from_five]) / 256); };
    return {score(5), score(10), figure(2 * std::numbers::pi)};
}

Values odd_column() {
    return {figure(std::pow(10000.0, 1 - 1.0 / 6), 5), figure(sinusoidal_table(6, 1, "denominator").rows[0][1])};
}

Values last_pair() {
    const PairColumns last = pair_columns(Pairing::adjacent, 255, 256);
    return {text(last.first), text(last.second)};
}

Values odd_width() {
    const Table small = sinusoidal_table(8, 128);
    return {text(sinusoidal_table(5, 1, "sin").header.size()), text(sinusoidal_table(5, 1, "cos").header.size()),
            text(small.rows.size()), text(small.rows[0].size())};
}

} // namespace

std::map<int, Values> evidence_of_tables(const Request& request) {
    return {{1, class_test()},      {2, odd_column()},      {3, periods()},
            {4, near_collisions()}, {5, late_dimensions()}, {14, doubled_exponent()},
            {15, last_pair()},      {16, circle()},         {25, segments(request.seed)},
            {26, odd_width()},      {27, norms()},          {29, overshadows()},
            {30, fives()}};
}

} // namespace ordo::lab
