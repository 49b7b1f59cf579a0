// SPDX-License-Identifier: MIT
#include "tools/lab/encodings.h"
#include "tools/lab/errata.h"
#include "tools/lab/slips.h"

#include "encoding/rotation.h"

#include <algorithm>

namespace ordo::lab {

namespace {

std::string class_test() {
    const std::vector<Vector> wrong = table_without_parentheses(10, 6);
    const Table right = sinusoidal_table(6, 10);
    double slow = 0, right_slow = 0;
    for (std::size_t p = 0; p + 1 < wrong.size(); ++p) {
        slow = std::max(slow, largest_difference(std::span(wrong[p]).subspan(2), std::span(wrong[p + 1]).subspan(2)));
        right_slow = std::max(right_slow, largest_difference(std::span(right.rows[p]).subspan(2),
                                                             std::span(right.rows[p + 1]).subspan(2)));
    }
    return text(wrong[1].size(), " columns; row 1 = ", figure(wrong[1][0], 5), ", ", figure(wrong[1][1], 5), ", ",
                figure(wrong[1][2], 5), ", 1, ", figure(wrong[1][4], 5), " ...; past column 1 neighbours differ by ",
                figure(slow, 2), ", in the right table by ", figure(right_slow, 2));
}

std::string periods() {
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
    return text("distance at offset 1: ", apart(table, 1), ", 6: ", apart(table, 6), ", 63: ", apart(table, 63),
                "; offset 63 is the nearest for ", nearest_is_63, " of 128 rows; at width 512: 1: ", apart(wide, 1),
                ", 6: ", apart(wide, 6), ", 63: ", apart(wide, 63));
}

std::string near_collisions() {
    const Vector angles = column_of(sinusoidal_table(8, 711, "angle"), 0);
    const Table wide = sinusoidal_table(128, 711);
    double least = HUGE_VAL;
    for (std::size_t offset = 1; offset < wide.rows.size(); ++offset)
        least = std::min(least, distance(wide.rows[0], wide.rows[offset]));
    return text("pair 0 at offset 44: ", figure(std::abs(turned(angles[44]))),
                " rad off a whole turn, 710: ", figure(std::abs(turned(angles[710])), 2),
                "; rows of width 128 at most 710 apart differ by at least ", figure(least));
}

std::string late_dimensions() {
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
    return text("width 512, rows 0 to 99: dim 510 in ", range(100, 1, 510), ", 511 in ", range(100, 1, 511),
                "; rows to 65,000: ", range(65000, 50, 510), " and ", range(65000, 50, 511));
}

std::string doubled_exponent() {
    // theta -> theta^2: 10000^(-2 (2k) / d)
    const LooseEncoding right("rope", dims_of(128)), wrong("rope:theta=100000000", dims_of(128));
    const Vector f = column_of(right.table(1, "frequency"), 1), g = column_of(wrong.table(1, "frequency"), 1);
    const auto below = [](const Vector& v) {
        return std::count_if(v.begin(), v.end(), [](double w) { return w < 1.000001e-4; });
    };
    return text("width 128: ", below(g), " of ", g.size(), " frequencies at or below 1e-4 (right: ", below(f),
                "), the slowest ", figure(g.back(), 2), " (right: ", figure(f.back(), 2), ")");
}

std::string circle() {
    const Table table = sinusoidal_table(2, 9);
    double off = 0, step = 0;
    for (std::size_t p = 1; p < table.rows.size(); ++p) {
        off = std::max(off, std::abs(norm(table.rows[p]) - 1));
        step += std::acos(cosine(table.rows[p - 1], table.rows[p])) / 8;
    }
    return text("the tips are off the unit circle around (1, 1) by at most ", figure(off), ", ", figure(step, 6),
                " rad apart");
}

std::string segments(std::uint64_t seed) {
    std::vector<float> x(10 * 8);
    const View rows = view(x.data(), 10, 8);
    LooseEncoding("segment", dims_of(8), seed).embed(rows);
    double most = 0;
    for (int i = 1; i < 10; ++i) most = std::max(most, largest_difference(row_span(rows, 0), row_span(rows, i)));
    const Table table = sinusoidal_table(8, 5);
    return text("what a segment adds at positions 0 to 9 differs by ", figure(most), "; a table of ", table.rows.size(),
                " x ", table.rows[0].size(), " has a row for each position, whatever the vocabulary");
}

std::string norms() {
    constexpr int d = 512;
    const double pe = norm(sinusoidal_table(d, 1).rows[0]);
    return text("width ", d, ": |PE| = ", figure(pe), " beside embeddings of length 1, ", figure(pe),
                " times as long; after the scale sqrt(d) ", figure(pe / std::sqrt(d)), " times");
}

} // namespace

std::vector<Erratum> errata_of_tables(const Request& request) {
    const PairColumns last = pair_columns(Pairing::adjacent, 255, 256);
    const double slip = std::pow(10000.0, 1 - 1.0 / 6);
    return {
        {1, notebook, "the output of the class is the encoding",
         "parentheses are missing: 10000^(k - 1/d) over all k, sine and cosine of each; the notebook's own table by "
         "hand is right",
         class_test(), "ordo lab worked-examples"},
        {2, notebook, "odd columns: 10000^(i - 1/d)", "10000^((i-1)/d), as its table has it",
         text("width 6, i = 1: ", figure(slip, 5), " in the place of ",
              figure(sinusoidal_table(6, 1, "denominator").rows[0][1])),
         "ordo table sinusoidal --dim 6 --part denominator"},
        {3, study_notes, "clusters of period 6 and 63: positions are biased",
         "right, and exact: distance depends on the offset alone, 6 is nearly a turn and 63 ten; a matter of 8 columns",
         periods(), "ordo lab clusters"},
        {4, "LLM study notes; Positional Encoding; the notebook",
         "waves never meet, lengths unseen are no problem, an unseen word's vector is predicted",
         "no two whole positions meet, but nearly; it is a position that is unseen, and models fail there",
         near_collisions(), "ordo lab stretch; ordo lab extrapolate"},
        {5, guide, "even dimensions go to 0, odd to 1, late ones range over [0, 1]; pos is an offset",
         "only while pos is far below 10000; pos multiplies the angle", late_dimensions(),
         "ordo table sinusoidal --dim 512 --start 50000; ordo lab heat-map"},
        {14, study_code, "exponent 2m/d with m already even", "the exponent is doubled: half of the pairs hardly move",
         doubled_exponent(), "ordo table rope:theta=100000000 --dim 128 --part frequency"},
        {15, study, "pairs (0, 1) ... (d-1, d)", "the last pair is (d-2, d-1)",
         text("width 512: pair 255 is (", last.first, ", ", last.second, ")"), "ordo table rope --dim 8 --part matrix"},
        {16, study, "(1, 1) moved by 8 positions has almost no discernable pattern", "it runs around a circle",
         circle(), "ordo lab circle"},
        {25, course_notes, "rotating the table aligns it with the vocabulary; segments give positional information",
         "it is a transpose; a segment's row is the same at all its positions", segments(request.seed),
         "ordo table sinusoidal --transpose; ordo lab order"},
        {26, "Positional Encoding; LLM study notes", "code for any d; \"100 samples with 20 features\"",
         "an odd d has a sine more than cosines; the matrix there is 128 x 8",
         text("width 5: ", sinusoidal_table(5, 1, "sin").header.size(), " sines, ",
              sinusoidal_table(5, 1, "cos").header.size(), " cosines; the matrix of the text: ",
              sinusoidal_table(8, 128).rows.size(), " x ", sinusoidal_table(8, 128).rows[0].size()),
         "ordo table sinusoidal --dim 5"},
        {27, all_texts, "embedding + PE, nothing else", "Vaswani et al. multiply the embedding by sqrt(d) first",
         norms(), "ordo lab scale"},
    };
}

} // namespace ordo::lab
