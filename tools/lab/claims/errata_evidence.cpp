// SPDX-License-Identifier: MIT
// The figures of each claim. A function returns them in the order in which the claim's sentences number them.
#include "encoding/base/rotation.h"
#include "ops/norm.h"
#include "tools/lab/claims/counting.h"
#include "tools/lab/claims/errata.h"
#include "tools/lab/claims/slips.h"
#include "tools/lab/claims/study.h"

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
        Sample values;
        for (int p = 0; p < rows; p += step) values.add(encoding.table(1, {}, p).rows[0][column]);
        return text("[", figure(values.least(), 5), ", ", figure(values.most(), 5), "]");
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

Values last_pair() {
    const PairColumns last = pair_columns(Pairing::adjacent, 255, 256);
    return {text(last.first), text(last.second)};
}

Values odd_width() {
    const Table small = sinusoidal_table(8, 128);
    return {text(sinusoidal_table(5, 1, "sin").header.size()), text(sinusoidal_table(5, 1, "cos").header.size()),
            text(small.rows.size()), text(small.rows[0].size())};
}

Values products() {
    const LooseEncoding rope("rope", dims_of(8));
    const auto matrix = [&](int t) { return rope.table(1, "matrix", t).rows; };
    const auto three = matrix(3), fourteen = matrix(14), eleven = matrix(11);
    double right = 0, other = 0;
    for (std::size_t i = 0; i < 8; ++i)
        for (std::size_t j = 0; j < 8; ++j) {
            double sum = 0;
            for (std::size_t l = 0; l < 8; ++l) sum += three[l][i] * fourteen[l][j];
            right = std::max(right, std::abs(sum - eleven[i][j]));
            other = std::max(other, std::abs(sum - eleven[j][i])); // R_-11 is the transpose
        }
    return {figure(right, 2), figure(other)};
}

Values counting() {
    constexpr int t = 100;
    const Model model = counting_model(t);
    Session session(model);
    std::vector<Token> tokens(t, 1);
    tokens[0] = counting_start;
    return {figure(static_cast<double>(session.feed(tokens)[0]), 6), figure(1.0 / t)};
}

Values positive_exponent() {
    const Vector w = column_of(LooseEncoding("rope:theta=0.0001", dims_of(8)).table(1, "frequency"), 1);
    std::string list, left;
    for (const double theta : w) {
        append(list, figure(theta, 4));
        append(left, figure(turned(theta)));
    }
    return {figure(w.back(), 4), list, left};
}

Values leaks(std::uint64_t seed) {
    const auto changes = [](const Leak& leak) {
        std::string list;
        for (const double x : leak.changes) append(list, figure(x, 2));
        return list;
    };
    using namespace study_data;
    const Leak wrong = leak(HeadSplit::reshaped, length, width, heads, seed),
               right = leak(HeadSplit::transposed, length, width, heads, seed);
    return {figure(wrong.changes[0], 2), figure(wrong.deviation, 2), changes(wrong), changes(right), text(length)};
}

Values parameters() {
    using namespace study_data;
    constexpr int one = 4 * width * width + width * vocabulary, embedding = vocabulary * width; // projections, head
    return {
        text(batch * one + embedding), text(one + embedding), text(one), text(batch), text(vocabulary), text(width)};
}

// Relative error of the gradient of w . embed(x) against central differences, and the error of dx = w.
Values gradients(std::uint64_t seed) {
    const SoftmaxGradient softmax = softmax_gradient(8, seed);
    const LooseEncoding stretch("rotate-stretch", dims_of(16));
    const std::vector<float> x = normal_floats(16, seed, 0xe0), w = normal_floats(16, seed, 0xe1);
    const std::vector<int> positions = {40};
    std::vector<float> analytic = w, at = x;
    stretch.stack().items()[0]->embed_backward(view(analytic.data(), 1, 16), view(at.data(), 1, 16), {positions, {}},
                                               {});
    Vector numeric;
    constexpr float h = 1e-2f;
    for (std::size_t i = 0; i < x.size(); ++i) {
        std::vector<float> up = x, down = x;
        up[i] += h;
        down[i] -= h;
        stretch.embed(view(up.data(), 1, 16), 40);
        stretch.embed(view(down.data(), 1, 16), 40);
        numeric.push_back((dot(up, w) - dot(down, w)) / (2 * double{h}));
    }
    return {figure(softmax.from_gradient), figure(softmax.right, 2), figure(distance(w, numeric) / norm(numeric)),
            figure(distance(analytic, numeric) / norm(numeric), 2)};
}

Values slopes() {
    const Vector eight = alibi_slopes(8), twelve = alibi_slopes(12);
    std::string tail;
    for (std::size_t h = 8; h < 12; ++h) append(tail, figure(twelve[h], 4));
    return {text(-std::log2(eight[7])), figure(eight[0]), figure(eight[7], 6), tail, figure(std::exp2(-8.0), 4)};
}

Values scales(std::uint64_t seed) {
    constexpr int e = 8, draws = 4000;
    const std::vector<float> q = normal_floats(e * draws, seed, 0xe2), k = normal_floats(e * draws, seed, 0xe3);
    Sample raw;
    for (std::size_t i = 0; i < draws; ++i)
        raw.add(dot(std::span(q).subspan(i * e, e), std::span(k).subspan(i * e, e)));
    return {figure(raw.deviation() / e), figure(raw.deviation() / std::sqrt(e)), figure(std::exp(-1.5)),
            figure(std::exp(-1.5 / std::sqrt(e)))};
}

Values decays() {
    const Vector m = alibi_slopes(16);
    return {figure(std::exp(-3 * m.back())), figure(std::exp(-3 * m.front()))};
}

// The last answer after the tokens before it are permuted, for one layer with random weights. Covers every registered
// encoding that acts on queries, keys or scores.
Values reversals(std::uint64_t seed) {
    std::string list;
    double least = HUGE_VAL;
    for (const EncodingInfo* info : registered_encodings())
        if (example_of(*info)->moments() & (moment_rotate | moment_bias)) {
            const double change = permute(std::string(info->name), 1, seed).difference;
            least = std::min(least, change);
            append(list, text(info->name, " ", figure(change)));
        }
    return {figure(least), list};
}

Values bags(std::uint64_t seed) {
    const auto change = [seed](int layers) { return figure(permute("none", layers, seed).difference, 2); };
    return {change(1), change(2), change(4)};
}

std::string range(std::span<const double> values) {
    return text(figure(sample_of(values).least()), " to ", figure(sample_of(values).most()));
}

Values reference_lines() {
    using namespace study_data;
    const Lines line = lines();
    return {range(food_is),
            figure(line.unigram),
            range(good_is),
            figure(line.uniform, 4),
            figure(line.unigram, 4),
            figure(line.by_heart, 4),
            figure(std::sqrt(std::log(2.0)), 4),
            range(food_next),
            figure(1.0 / vocabulary)};
}

Values turns() {
    const Table table = LooseEncoding("rotate-stretch", dims_of(8)).table(38);
    const auto apart = [&](std::size_t i, std::size_t j) {
        return figure(std::abs(turned(table.rows[j][1] - table.rows[i][1])));
    };
    return {apart(1, 36), apart(1, 37), apart(0, 36)};
}

Values stretches(std::uint64_t seed) {
    constexpr int width = 128;
    const LooseEncoding stretch("rotate-stretch", dims_of(width));
    std::vector<float> here = normal_floats(width, seed, 0xe4), ones(width, 1.0f);
    std::vector<float> unit = here;
    for (float& v : unit) v /= static_cast<float>(norm(here));
    const View x = view(unit.data(), 1, width);
    stretch.embed(x);
    const double shrunk = norm(unit);
    std::vector<float> later = here;
    stretch.embed(view(here.data(), 1, width), 5);
    stretch.embed(view(later.data(), 1, width), 41);
    const double before = norm(later) / norm(here);
    for (std::vector<float>* row : {&here, &later})
        rms_norm(view(row->data(), 1, width), view(ones.data(), 1, width), 1e-5f, view(row->data(), 1, width));
    return {figure(cosine(here, later), 8), figure(before), figure(norm(later) / norm(here), 6), figure(shrunk)};
}

// Pairs of neighbouring words that span two sentences, once the ends of sentences are removed.
Values crossings() {
    constexpr int neighbours = study_data::words - 1, across = study_data::sentences - 1;
    return {figure(100.0 * across / neighbours), text(neighbours), text(across), text(study_data::length)};
}

Values best_of_three() {
    using namespace study_data;
    return {fixed_text(food_next.front(), 5), fixed_text(sample_of(food_next).most(), 5), figure(1.0 / vocabulary)};
}

Values beside_is() {
    using namespace study_data;
    return {text(good_beside_is), text(good), text(food_beside_is), text(food)};
}

} // namespace

std::map<int, Values> evidence_of(const Request& request) {
    const std::uint64_t seed = request.seed;
    std::map<int, Values> all = {
        {1, class_test()},
        {2, {figure(std::pow(10000.0, 1 - 1.0 / 6), 5), figure(sinusoidal_table(6, 1, "denominator").rows[0][1])}},
        {3, periods()},
        {4, near_collisions()},
        {5, late_dimensions()},
        {6, products()},
        {7, counting()},
        {8, positive_exponent()},
        {9, reference_lines()},
        {10, leaks(seed)},
        {11, parameters()},
        {12, gradients(seed)},
        {14, doubled_exponent()},
        {15, last_pair()},
        {16, circle()},
        {17, slopes()},
        {18, scales(seed)},
        {19, decays()},
        {20, reversals(seed)},
        {21, bags(seed)},
        {23, turns()},
        {24, stretches(seed)},
        {25, segments(seed)},
        {26, odd_width()},
        {27, norms()},
        {28, crossings()},
        {29, overshadows()},
        {30, fives()},
        {31, best_of_three()},
        {32, beside_is()}};
    all.merge(trained_evidence(request));
    return all;
}

} // namespace ordo::lab
