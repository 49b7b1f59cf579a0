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

Evidence class_test() {
    const std::vector<Vector> wrong = table_without_parentheses(10, 6);
    const Table right = sinusoidal_table(6, 10);
    double slow = 0, right_slow = 0;
    for (std::size_t p = 0; p + 1 < wrong.size(); ++p) {
        slow = std::max(slow, largest_difference(std::span(wrong[p]).subspan(2), std::span(wrong[p + 1]).subspan(2)));
        right_slow = std::max(right_slow, largest_difference(std::span(right.rows[p]).subspan(2),
                                                             std::span(right.rows[p + 1]).subspan(2)));
    }
    return {text(wrong[1].size(), " columns for a width of ", right.rows[1].size()),
            text(wrong[1].size(), " columns; row 1 = ", figure(wrong[1][0], 5), ", ", figure(wrong[1][1], 5), ", ",
                 figure(wrong[1][2], 5), ", 1, ", figure(wrong[1][4], 5), " ...; past column 1 neighbours differ by ",
                 figure(slow, 2), ", in the right table by ", figure(right_slow, 2))};
}

Evidence periods() {
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
    return {text("apart ", apart(table, 6), ", ", apart(table, 63), "; at 1: ", apart(table, 1)),
            text("distance at offset 1: ", apart(table, 1), ", 6: ", apart(table, 6), ", 63: ", apart(table, 63),
                 "; offset 63 is the nearest for ", nearest_is_63, " of 128 rows; at width 512: 1: ", apart(wide, 1),
                 ", 6: ", apart(wide, 6), ", 63: ", apart(wide, 63))};
}

Evidence near_collisions() {
    const Vector angles = column_of(sinusoidal_table(8, 711, "angle"), 0);
    const Table wide = sinusoidal_table(128, 711);
    const auto apart = [&wide](std::size_t offset) { return figure(distance(wide.rows[0], wide.rows[offset])); };
    const std::string close = figure(std::abs(turned(angles[710])), 2);
    return {text("pair 0 at 710: ", close, " rad off"),
            text("pair 0 at offset 44: ", figure(std::abs(turned(angles[44]))), " rad off a whole turn, 710: ", close,
                 "; the slower pairs keep rows of width 128 apart, by ", apart(44), " and ", apart(710), " there, by ",
                 apart(1), " at offset 1")};
}

Evidence late_dimensions() {
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
    const std::string all = range(65000, 50, 510);
    return {text("dim 510 to row 65,000: ", all),
            text("width 512, rows 0 to 99: dim 510 in ", range(100, 1, 510), ", 511 in ", range(100, 1, 511),
                 "; rows to 65,000: ", all, " and ", range(65000, 50, 511))};
}

Evidence doubled_exponent() {
    // theta -> theta^2: 10000^(-2 (2k) / d)
    const LooseEncoding right("rope", dims_of(128)), wrong("rope:theta=100000000", dims_of(128));
    const Vector f = column_of(right.table(1, "frequency"), 1), g = column_of(wrong.table(1, "frequency"), 1);
    const auto below = [](const Vector& v) {
        return std::count_if(v.begin(), v.end(), [](double w) { return w < 1.000001e-4; });
    };
    return {text(below(g), " of ", g.size(), " pairs hardly move"),
            text("width 128: ", below(g), " of ", g.size(), " frequencies at or below 1e-4 (right: ", below(f),
                 "), the slowest ", figure(g.back(), 2), " (right: ", figure(f.back(), 2), ")")};
}

Evidence circle() {
    const Table table = sinusoidal_table(2, 9);
    double off = 0, step = 0;
    for (std::size_t p = 1; p < table.rows.size(); ++p) {
        off = std::max(off, std::abs(norm(table.rows[p]) - 1));
        step += std::acos(cosine(table.rows[p - 1], table.rows[p])) / 8;
    }
    return {text("off a circle by ", figure(off)), text("the tips are off the unit circle around (1, 1) by at most ",
                                                        figure(off), ", ", figure(step, 6), " rad apart")};
}

Evidence segments(std::uint64_t seed) {
    std::vector<float> x(10 * 8);
    const View rows = view(x.data(), 10, 8);
    LooseEncoding("segment", dims_of(8), seed).embed(rows);
    double most = 0;
    for (int i = 1; i < 10; ++i) most = std::max(most, largest_difference(row_span(rows, 0), row_span(rows, i)));
    const Table table = sinusoidal_table(8, 5);
    return {text("segment rows differ by ", figure(most)),
            text("what a segment adds at positions 0 to 9 differs by ", figure(most), "; a table of ",
                 table.rows.size(), " x ", table.rows[0].size(),
                 " has a row for each position, whatever the vocabulary, and ",
                 sinusoidal_table(8, 1, "div_term").rows.size(), " frequencies, one for each i")};
}

Evidence norms() {
    constexpr int d = 512;
    const double pe = norm(sinusoidal_table(d, 1).rows[0]);
    return {text("|PE| is ", figure(pe), " |e| at width ", d),
            text("width ", d, ": |PE| = ", figure(pe), " beside embeddings of length 1, ", figure(pe),
                 " times as long; after the scale sqrt(d) ", figure(pe / std::sqrt(d)), " times")};
}

// Values within a bound, and what is left of the words.
Evidence overshadows() {
    constexpr int d = 512;
    const Table table = sinusoidal_table(d, 100);
    double most = 0;
    for (const auto& row : table.rows)
        for (const double value : row) most = std::max(most, std::abs(value));
    const double pe = norm(table.rows[0]);
    return {text("|PE| is ", figure(pe), ", values up to ", figure(most)),
            text("width ", d, ": no value above ", figure(most), ", and yet |PE| = ", figure(pe),
                 " beside 1 of an embedding of N(0, 1/d), and ", figure(std::sqrt(d)), " of one of N(0, 1)")};
}

// A query for the word 5 places on, PE(p) turned by 5, has a score of cos(w (k - 5)) in each pair at the offset k.
Evidence fives() {
    const Table table = sinusoidal_table(512, 16);
    const auto score = [&](std::size_t from_five) { return figure(dot(table.rows[0], table.rows[from_five]) / 256); };
    return {text("5: 1, 10: ", score(5), ", 15: ", score(10)),
            text("width 512, a query that asks for 5 on: a score of 1 at 5, ", score(5), " at 10, ", score(10),
                 " at 15; the fastest wave takes ", figure(2 * std::numbers::pi), " words")};
}

std::vector<Erratum> errata_of_waves() {
    const double slip = std::pow(10000.0, 1 - 1.0 / 6);
    return {
        {1,
         notebook,
         {"the class's output is the table", "the output of the class is the encoding"},
         "wrong",
         "parentheses are missing: 10000^(k - 1/d) over all k, sine and cosine of each; the notebook's own table by "
         "hand is right",
         class_test(),
         "ordo lab worked-examples"},
        {2,
         notebook,
         {"odd columns: 10000^(i - 1/d)", "odd columns: 10000^(i - 1/d)"},
         "wrong",
         "10000^((i-1)/d), as its table has it",
         {text("i = 1: ", figure(slip, 5), ", not 1"), text("width 6, i = 1: ", figure(slip, 5), " in the place of ",
                                                            figure(sinusoidal_table(6, 1, "denominator").rows[0][1]))},
         "ordo table sinusoidal --dim 6 --part denominator; ordo encodings sinusoidal"},
        {3,
         study_notes,
         {"rows cluster by 6 and by 63", "clusters of period 6 and 63: positions are biased"},
         "right",
         "right, and exact: distance depends on the offset alone, 6 is nearly a turn and 63 ten; a matter of 8 columns",
         periods(),
         "ordo lab clusters"},
        {4,
         "LLM study notes; Positional Encoding; the notebook",
         {"waves never meet at any length",
          "waves never meet, lengths unseen are no problem, an unseen word's vector is predicted"},
         "partly",
         "no two whole positions meet, but single pairs nearly; it is a position that is unseen, and models fail there",
         near_collisions(),
         "ordo lab stretch; ordo lab extrapolate"},
        {5,
         guide,
         {"even dims go to 0, odd to 1",
          "even dimensions go to 0, odd to 1, late ones range over [0, 1]; pos is an offset; i is the index of a "
          "dimension"},
         "partly",
         "only while pos is far below 10000; pos multiplies the angle; i counts pairs of dimensions",
         late_dimensions(),
         "ordo table sinusoidal --dim 512 --start 50000; ordo lab heat-map"},
    };
}

std::vector<Erratum> errata_of_pairs_and_uses(const Request& request) {
    const PairColumns last = pair_columns(Pairing::adjacent, 255, 256);
    const std::size_t sines = sinusoidal_table(5, 1, "sin").header.size(),
                      cosines = sinusoidal_table(5, 1, "cos").header.size();
    const Table small = sinusoidal_table(8, 128);
    return {
        {14,
         study_code,
         {"exponent 2m/d, m already even", "exponent 2m/d with m already even"},
         "wrong",
         "the exponent is doubled: half of the pairs hardly move",
         doubled_exponent(),
         "ordo table rope:theta=100000000 --dim 128 --part frequency"},
        {15,
         study,
         {"pairs (0, 1) ... (d-1, d)", "pairs (0, 1) ... (d-1, d)"},
         "wrong",
         "the last pair is (d-2, d-1)",
         {text("of 512 the last is (", last.first, ", ", last.second, ")"),
          text("width 512: pair 255 is (", last.first, ", ", last.second, ")")},
         "ordo table rope --dim 8 --part matrix"},
        {16,
         study,
         {"(1, 1) moves without a pattern", "(1, 1) moved by 8 positions has almost no discernable pattern"},
         "wrong",
         "it runs around a circle",
         circle(),
         "ordo lab circle"},
        {25,
         course_notes,
         {"a transpose fits the vocabulary",
          "rotating the table aligns it with the vocabulary; segments give positional information; i, the index of a "
          "dimension, makes a wave of its own"},
         "wrong",
         "it is a transpose; a segment's row is the same at all its positions; i indexes the pair: its sine and its "
         "cosine share a frequency",
         segments(request.seed),
         "ordo table sinusoidal --transpose; ordo lab worked-examples"},
        {26,
         "Positional Encoding; LLM study notes",
         {"code for any d; 100 x 20 samples",
          "code for any d, with super().__init_(), forward() outside of the class and a module called that is never "
          "built; \"100 samples with 20 features\""},
         "wrong",
         "an odd d has a sine more than cosines, for which the slice is too short; __init__ has four underscores, "
         "forward() is a method, positional_encoding must be an instance; the matrix there is 128 x 8",
         {text("width 5: ", sines, " sines, ", cosines, " cosines"),
          text("width 5: ", sines, " sines, ", cosines, " cosines; the matrix of the text: ", small.rows.size(), " x ",
               small.rows[0].size())},
         "ordo table sinusoidal --dim 5"},
        {27,
         all_texts,
         {"embedding + PE, nothing else", "embedding + PE, nothing else"},
         "partly",
         "Vaswani et al. multiply the embedding by sqrt(d) first",
         norms(),
         "ordo lab scale"},
    };
}

std::vector<Erratum> errata_of_values() {
    return {
        {29,
         course_notes,
         {"[-1, 1] spares the embeddings", "the range of -1 to 1 prevents overshadowing the embeddings"},
         "partly",
         "a bound on values bounds a row by sqrt(d) only: whether the words are drowned depends on the embedding's "
         "size",
         overshadows(),
         "ordo lab scale"},
        {30,
         notebook,
         {"attend to 5, 10, 15 words after", "periodicity lets a word attend to 5 words after it, then 10, 15, 20"},
         "wrong",
         "a query can ask for any one offset; 10 and 15 get nothing of their own, as no wave has a period of 5; in a "
         "causal model words after are masked",
         fives(),
         "ordo lab waves"},
    };
}

} // namespace

std::vector<Erratum> errata_of_tables(const Request& request) {
    std::vector<Erratum> all = errata_of_waves();
    for (const auto& part : {errata_of_pairs_and_uses(request), errata_of_values()})
        all.insert(all.end(), part.begin(), part.end());
    return all;
}

} // namespace ordo::lab
