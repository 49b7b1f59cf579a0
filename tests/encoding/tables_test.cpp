// SPDX-License-Identifier: MIT
// The tables of `ordo table` against the oracles, and against the tensors that they show.
#include "tests/encoding/subject.h"
#include "tests/expect_error.h"

#include <cmath>
#include <set>

namespace ordo {
namespace tables_test {

using reference::Vector;

class EncodingShows : public EncodingTest {
protected:
    void SetUp() override {
        EncodingTest::SetUp();
        if (stack.items().size() != 1) return; // a sum has no table
        encoding = stack.items()[0].get();
        layer = stack.layer(0).moments() == stack.moments() ? 0 : 1;
        for (const auto* one : subject.oracles->layer(layer)) oracle = one;
        parts = encoding->table_parts();
    }
    bool shows(const std::string& part) const { return std::find(parts.begin(), parts.end(), part) != parts.end(); }
    Vector unit(int size, int column) const {
        Vector x(static_cast<std::size_t>(size));
        x[column] = 1;
        return x;
    }
    Vector rotated(Vector x, const reference::Place& at) const {
        oracle->rotate(x, at, Role::query, layer, 0);
        return x;
    }

    const Encoding* encoding = nullptr;
    const reference::Oracle* oracle = nullptr;
    std::vector<std::string> parts;
    int layer = 0;
};

// The bias of each pair, or what is added to the embedding of each position.
TEST_P(EncodingShows, WhatItAdds) {
    if (!shows("table")) return;
    const Vector x;
    for (const int start : {0, 7, 60, 4090}) {
        TableRequest request{.length = 12, .start = start, .head = subject.dims.n_heads - 1, .layer = layer};
        if (const int most = stack.limits().given(); start + 12 > most) request.start = most - 12;
        Table table;
        if (code_of([&] { table = encoding->table(request); }) == ErrorCode::usage) return; // it has none
        const bool is_bias = table.header[0] == "key" + std::to_string(request.start);
        const bool by_position = table.header[0] == "dim0" && table.rows.size() == 12;
        if (!is_bias && !(encoding->moments() & moment_embed && by_position)) return; // rows of a tensor
        for (int i = 0; i < static_cast<int>(table.rows.size()); ++i) {
            Vector added(table.header.size());
            if (!is_bias) oracle->embed(added, {request.start + i}, i);
            for (int j = 0; j < static_cast<int>(added.size()); ++j) {
                const reference::Place query{request.start + i}, key{request.start + j};
                const double expected = !is_bias ? added[j]
                                        : subject.sees(i, j)
                                            ? oracle->bias({layer, request.head, 1}, {x, query, x}, {x, key, x})
                                            : -HUGE_VAL;
                const double found = table.rows[i][j];
                EXPECT_TRUE(found == expected || std::abs(found - expected) <= 1e-9 * std::max(1.0, std::abs(expected)))
                    << request.start << ": " << i << ", " << j << ": " << found << " for " << expected;
            }
        }
    }
}

// Its columns are the images of the unit vectors. That of a stretch is shown without it.
TEST_P(EncodingShows, TheMatrixOfARotation) {
    if (!shows("matrix")) return;
    const bool embeds = encoding->moments() & moment_embed;
    const int size = embeds ? subject.dims.d_model : subject.dims.d_head;
    for (const int start : {0, 3, 41}) {
        const Table table = encoding->table({.start = start, .part = "matrix"});
        ASSERT_EQ(table.rows.size(), static_cast<std::size_t>(size));
        for (int j = 0; j < size; ++j) {
            Vector image = rotated(unit(size, j), {start});
            if (embeds) oracle->embed(image, {start}, 0);
            const double length = embeds ? std::sqrt(reference::dot(image, image)) : 1;
            for (int i = 0; i < size; ++i)
                EXPECT_NEAR(table.rows[i][j], image[i] / length, 1e-12) << start << ": " << i << ", " << j;
        }
    }
}

// The reach of a model is computed from the frequencies of an encoding whose angles grow with the position.
TEST_P(EncodingShows, TheFrequenciesOfItsAngles) {
    if (!shows("table") || !(encoding->moments() & moment_rotate)) return;
    Table angles;
    if (code_of([&] { angles = encoding->table({.length = 4, .start = 3, .layer = layer}); }) == ErrorCode::usage)
        return;
    const auto angle = std::find(angles.header.begin(), angles.header.end(), "angle") - angles.header.begin();
    if (angle == std::ssize(angles.header)) return;
    ASSERT_TRUE(shows("frequency"));
    const Table frequency = encoding->table({.part = "frequency"});
    for (const std::vector<double>& row : angles.rows)
        EXPECT_NEAR(row[angle], row[0] * frequency.rows.at(static_cast<std::size_t>(row[1])).at(1), 1e-12);
}

// Angles, cosines and sines of positions and pairs; the frequency of each pair, with its axis, or its zeta in xPos.
TEST_P(EncodingShows, TheAnglesOfPairs) {
    const reference::Item item(stack.spec());
    if (!shows("frequency") || !item.has("width")) return; // lengths at angles show no pairs of columns
    const int width = item.integer("width"), pairs = width / 2;
    const auto image = [&](int pair, const reference::Place& at) { // of the first column of a pair: its two columns
        const bool halves = item.is("pairing", "halves");
        const Vector x = rotated(unit(subject.dims.d_head, halves ? pair : 2 * pair), at);
        return std::pair(x[halves ? pair : 2 * pair], x[halves ? pair + pairs : 2 * pair + 1]);
    };
    const Table table = encoding->table({.length = 3, .start = 5}), frequency = encoding->table({.part = "frequency"});
    ASSERT_EQ(table.rows.size(), static_cast<std::size_t>(3 * pairs));
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
        const std::vector<double>& row = table.rows[i];
        const int position = 5 + static_cast<int>(i) / pairs, pair = static_cast<int>(i) % pairs;
        const auto [cos, sin] = image(pair, {position});
        const double scale = row.size() > 5 ? row[5] : 1;
        EXPECT_EQ(row[0], position);
        EXPECT_EQ(row[1], pair);
        EXPECT_NEAR(row[3] * scale, cos, 1e-12);
        EXPECT_NEAR(row[4] * scale, sin, 1e-12);
        if (row.size() > 5) {
            EXPECT_NEAR(scale, std::hypot(cos, sin), 1e-12);
        }
    }
    for (int pair = 0; pair < pairs; ++pair) {
        const auto [cos, sin] = image(pair, {1});
        int axis = 0;
        for (int other = 1; other < subject.axes; ++other) {
            reference::Place at(static_cast<std::size_t>(subject.axes));
            at[other] = 1;
            if (image(pair, at).second != 0) axis = other;
        }
        EXPECT_NEAR(frequency.rows[pair][1], std::atan2(sin, cos), 1e-14);
        const double more = item.name() == "xpos" ? std::pow(std::hypot(cos, sin), item.number("scale")) : axis;
        EXPECT_NEAR(frequency.rows[pair][2], more, 1e-9) << pair;
    }
}

INSTANTIATE_TEST_SUITE_P(All, EncodingShows, testing::ValuesIn(cases_with_limits()), encoding_case_name);

// ---- Tables of tensors and of parts of a formula ---------------------------------------------------

// Expects a table of 12 rows from position 7 on, of head 1 and layer 1, to have number(subject, row, column).
using Number = std::function<double(const Subject&, int row, int column)>;
void expect_part(const std::string& spec, const std::string& part, const Number& number, Mask mask = Mask::causal) {
    SCOPED_TRACE(spec + ", " + part);
    Dims dims = even_dims;
    dims.mask = mask;
    const Subject subject({spec, dims});
    const Encoding& encoding = *subject.stack.items()[0];
    const Table table = encoding.table({.length = 12, .start = 7, .head = 1, .part = part, .layer = 1});
    ASSERT_FALSE(table.rows.empty());
    for (int i = 0; i < static_cast<int>(table.rows.size()); ++i) {
        ASSERT_EQ(table.rows[i].size(), table.header.size());
        for (int j = 0; j < static_cast<int>(table.header.size()); ++j) {
            const double expected = number(subject, i, j);
            EXPECT_NEAR(table.rows[i][j], expected, 1e-12 * std::max(1.0, std::abs(expected))) << i << ", " << j;
        }
    }
}
// The same for a table whose first column has the number of the row, counted from `first`.
void expect_rows(const std::string& spec, const std::string& part, int first, const Number& number,
                 Mask mask = Mask::causal) {
    expect_part(
        spec, part, [&](const auto& s, int i, int j) { return j == 0 ? first + i : number(s, i, j - 1); }, mask);
}

const reference::Matrix& tensor_of(const Subject& s, const std::string& name) {
    return s.tensors.at("encoding." + name);
}
// The rows of a tensor from `first` on, and its columns from `column` on.
Number rows_of(const std::string& name, int first = 0, int column = 0) {
    return [=](const Subject& s, int i, int j) { return tensor_of(s, name).at(first + i, column + j); };
}
Number heads_of(const std::string& name, double least = -HUGE_VAL, double most = HUGE_VAL) {
    return [=](const Subject& s, int i, int) { return std::clamp(tensor_of(s, name).at(0, i), least, most); };
}

TEST(EncodingShowsItsParts, Tensors) {
    expect_part("learned:offset=2", "table", rows_of("learned.weight", 9));
    expect_part("segment:count=5", "table", rows_of("segment.weight"));
    expect_rows("alibi:trained=yes", "slopes", 0, heads_of("alibi.layers.1.slopes"));
    expect_part("t5", "weights", rows_of("t5.weight"));
    expect_rows("sink", "table", 0, heads_of("sink.layers.1.logit"));
    expect_part("cope:positions=5", "table", rows_of("cope.layers.1.weight"));
    expect_rows("shaw:clip=2", "keys", -2, rows_of("shaw.layers.1.keys"));
    expect_rows("shaw:clip=2", "values", -2, rows_of("shaw.layers.1.values"));
    // The rows of keys are p_i - p_j + span, those of queries p_j - p_i + span, of head 1. Distances are p_j - p_i.
    expect_rows("deberta:span=3", "keys", -2,
                [](const Subject& s, int i, int j) { return tensor_of(s, "deberta.layers.1.keys").at(5 - i, 8 + j); });
    expect_rows("deberta:span=3", "queries", -3, rows_of("deberta.layers.1.queries", 0, 8));
    for (const bool power : {false, true}) {
        const Number a = heads_of("kerple.layers.1.r1", 0.01),
                     b = heads_of("kerple.layers.1.r2", 0.01, power ? 2 : HUGE_VAL);
        expect_rows(power ? "kerple:kernel=power" : "kerple", "parameters", 0,
                    [&](const Subject& s, int i, int j) { return (j == 0 ? a : b)(s, i, j); });
    }
    expect_rows("relative-logits:extent=9", "table", 0,
                [](const Subject& s, int i, int j) { return tensor_of(s, "relative-logits.layers.1.table").at(j, i); });
    expect_rows("forget", "table", 0, [](const Subject& s, int i, int j) {
        const double bias = tensor_of(s, "forget.layers.1.gate.bias").at(0, i);
        return j == 0 ? bias : 1 / (1 + std::exp(-bias));
    });
}

TEST(EncodingShowsItsParts, PartsOfFormulas) {
    const double pi = std::acos(-1.0);
    expect_rows("log-scale", "table", 7, [](const Subject& s, int i, int) {
        return tensor_of(s, "log-scale.layers.1.scale").at(0, 1) * std::log(8.0 + i);
    });
    expect_rows("log-scale:kind=ministral,length=9,factor=0.5", "table", 7,
                [](const Subject&, int i, int) { return 1 + 0.5 * std::log((7 + i) / 9 + 1); });
    expect_rows("selective-rope:theta=100", "table", 0,
                [](const Subject&, int i, int) { return std::pow(100, -i / 4.0); });
    expect_rows("stick-breaking", "table", 7, [](const Subject&, int i, int) { return std::pow(0.5, 7 + i); });
    expect_rows("rotate-stretch:period=6,step=0.3", "table", 7, [&](const Subject&, int i, int j) {
        return j == 0 ? (7 + i) % 6 * pi / 3 : ((7 + i) / 6 + 1) * 0.3; // whole turns do not count in angles
    });
    expect_rows("sandwich:scale=3", "scales", 0, [](const Subject&, int i, int) { return i + 1; });
    const auto angle = [](int position, int pair) { return position / std::pow(10000, pair / 12.0); };
    expect_rows("sinusoidal", "div_term", 0, [&](const Subject&, int i, int) { return angle(1, i); });
    const std::string moved = "sinusoidal:offset=3";
    expect_part(moved, "position", [](const Subject&, int i, int) { return 10 + i; });
    expect_part(moved, "angle", [&](const Subject&, int i, int j) { return angle(10 + i, j); });
    expect_part("fire:width=10", "function", [](const Subject& s, int i, int j) {
        const auto of = [&](const char* name, int row, int col) {
            return tensor_of(s, std::string("fire.layers.1.") + name).at(row, col);
        };
        const double x = i / 11.0;
        if (j == 0) return x;
        double y = of("out.bias", 0, j - 1);
        for (int w = 0; w < 10; ++w)
            y += of("out.weight", j - 1, w) * std::max(0.0, of("in.weight", w, 0) * x + of("in.bias", 0, w));
        return y;
    });
    const auto sinusoid = [&](int t, int c) { return std::sin(t * std::pow(10000, -(c % 5) / 5.0) + c / 5 * pi / 2); };
    expect_part("transformer-xl:width=10", "sinusoid",
                [&](const Subject&, int i, int j) { return sinusoid(7 + i, j); });
    expect_part("transformer-xl:width=10", "vectors", [&](const Subject& s, int i, int j) {
        double sum = 0;
        for (int c = 0; c < 10; ++c)
            sum += tensor_of(s, "transformer-xl.layers.1.projection").at(8 + j, c) * sinusoid(7 + i, c);
        return sum;
    });
}

// Layers and heads that do not exist, and tensors that are not bound.
TEST(EncodingShowsItsParts, RefusesWhatIsMissing) {
    const auto refused = [](const Encoding& encoding, const TableRequest& request) {
        return code_of([&] {
                   const Table table = encoding.table(request);
                   EXPECT_FALSE(table.rows.empty());
                   for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.header.size());
               }) == ErrorCode::usage;
    };
    const std::set<std::string> from_parameters = {"t5 buckets", "transformer-xl sinusoid", "pope table",
                                                   "pope frequency", "selective-rope table"};
    std::vector<EncodingCase> cases = registered_cases(even_dims);
    cases.push_back({"alibi:trained=yes", even_dims});
    for (const EncodingCase& c : cases) {
        const Subject subject(c);
        if (subject.stack.items().empty()) continue; // none
        const Encoding& encoding = *subject.stack.items()[0];
        const auto bare = std::move(make_encodings(c.spec, even_dims).at(0));
        const bool stored = !subject.storage.empty(), per_layer = stored && encoding.tensors().at(0).per_layer;
        for (const std::string& part : encoding.table_parts()) {
            SCOPED_TRACE(c.spec + ", " + part);
            const bool derived = !stored || from_parameters.contains(c.spec + " " + part);
            EXPECT_EQ(refused(*bare, {.part = part}), !derived);
            EXPECT_EQ(refused(encoding, {.part = part, .layer = 2}), per_layer && !derived);
        }
    }
    for (const std::string& spec : words_of("alibi t5 kerple sandwich fire deberta transformer-xl log-scale")) {
        const std::string part = spec == "deberta" ? "keys" : spec == "transformer-xl" ? "vectors" : "";
        const Subject subject({spec, even_dims});
        for (const int head : {-1, 3})
            EXPECT_TRUE(refused(*subject.stack.items()[0], {.head = head, .part = part})) << spec;
    }
}

} // namespace tables_test
} // namespace ordo
