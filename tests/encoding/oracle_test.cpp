// SPDX-License-Identifier: MIT
// Compares every moment of every registered encoding with its oracle. Gradients are in oracle_gradient_test.cpp, bits
// in encoding_bits_test.cpp, whole models in contract_test.cpp.
#include "tests/encoding/subject.h"

#include <cmath>
#include <numeric>

namespace ordo {
namespace oracle_test {

void expect_row(const std::vector<double>& found, const std::vector<double>& expected, const std::string& what,
                double tolerance = 1e-6) {
    double size = 1;
    for (const double value : expected) size = std::isinf(value) ? size : std::max(size, std::abs(value));
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t j = 0; j < found.size(); ++j)
        if (std::isinf(expected[j])) // a score that is hidden
            EXPECT_EQ(found[j], expected[j]) << what << ", column " << j;
        else
            EXPECT_NEAR(found[j], expected[j], tolerance * size) << what << ", column " << j;
}

constexpr double of_products = 1e-5; // for sums of products that partly cancel

class EncodingOracle : public EncodingTest {
protected:
    LayerOracles oracles(int layer) const { return {subject, layer, at}; }
};

// Without segments, all rows are of segment 0.
TEST_P(EncodingOracle, Embeds) {
    for (const std::vector<int>& given : {segments, {}}) {
        InnerRows x(n, subject.dims.d_model, 3);
        std::fill_n(x.view().row(4), subject.dims.d_model, 0.0f);
        InnerRows before = x;
        stack.embed(x.view(), {positions(), given});
        for (int i = 0; i < n; ++i) {
            const auto row = static_cast<std::size_t>(i);
            std::vector<double> expected = before.row(i);
            for (const auto* oracle : subject.oracles->all())
                oracle->embed(expected, oracles(0).place(row), given.empty() ? 0 : given[row]);
            expect_row(x.row(i), expected, "row " + std::to_string(i));
        }
        EXPECT_TRUE(x.guarded());
    }
}

// One call and several calls give the same bits. Each later call receives the final state of the call before. The
// moments that read the state check its meaning.
TEST_P(EncodingOracle, Observes) {
    for (const int layer : {0, 1}) {
        const LayerEncodings& encodings = stack.layer(layer);
        const int width = encodings.state_floats();
        if (!(encodings.moments() & moment_observe)) continue;
        ASSERT_GT(width, 0);
        InnerRows x(n, subject.dims.d_model, 3), before = x, whole(n, width, 5), parts = whole;
        encodings.observe(x.view(), positions(), nullptr, whole.view());
        const float* last = nullptr;
        int first = 0;
        for (const int length : {1, 4, n - 5}) {
            encodings.observe(x.rows(first, length), positions(first, length), last, parts.rows(first, length));
            first += length;
            last = parts.view().row(first - 1);
        }
        EXPECT_EQ(whole.values(), parts.values());
        EXPECT_EQ(x.values(), before.values());
        EXPECT_TRUE(whole.guarded() && parts.guarded());
    }
}

// Rotates all heads at once, and some of them.
TEST_P(EncodingOracle, Rotates) {
    const int e = subject.dims.d_head, heads = subject.dims.n_heads;
    for (const int layer : {0, 1}) {
        const LayerOracles exact = oracles(layer);
        Seen seen(subject, exact, layer, positions());
        for (const Role role : all_roles)
            for (const auto& [first, count] : {std::pair{0, heads}, {1, heads - 1}}) {
                InnerRows x(n, count * e, 4), before = x;
                stack.layer(layer).rotate(x.view(), seen.rows(role, first, count));
                for (int i = 0; i < n; ++i)
                    for (int h = 0; h < count; ++h) {
                        const std::vector<double> old = before.row(i), now = x.row(i);
                        std::vector<double> expected(old.begin() + h * e, old.begin() + (h + 1) * e);
                        exact.rotate(expected, static_cast<std::size_t>(i), role, first + h, seen.exact.states);
                        expect_row({now.begin() + h * e, now.begin() + (h + 1) * e}, expected,
                                   "row " + std::to_string(i) + ", head " + std::to_string(first + h),
                                   seen.observes() ? 1e-4 : 1e-6); // angles of hundreds of radians
                    }
                EXPECT_TRUE(x.guarded());
            }
    }
}

// Tiles with keys before, at and after their queries. Masked scores do not count.
TEST_P(EncodingOracle, Biases) {
    for (const Placing& placing : subject.placings())
        for (const int layer : {0, 1}) {
            const bool all = placing.name == "mixed"; // the long ones have one layer and head
            if (!(stack.layer(layer).moments() & moment_bias) || (!all && layer == 0)) continue;
            const Positions at(placing.ids, subject.axes);
            const LayerOracles exact(subject, layer, placing.ids);
            Seen seen(subject, exact, layer, at);
            const double tolerance = stack.layer(layer).reads() != 0 ? of_products : 1e-6;
            for (int head = all ? 0 : subject.dims.n_heads - 1; head < subject.dims.n_heads; ++head) {
                const int first = seen.n - placing.queries;
                const Tile tile = seen.tile(head, first, placing.queries, seen.n);
                InnerRows scores(placing.queries, seen.n, 5), before = scores;
                stack.layer(layer).bias(scores.view(), tile);
                for (int i = 0; i < placing.queries; ++i)
                    for (int j = 0; j < seen.n; ++j) {
                        if (!subject.sees(first + i, j)) continue;
                        const auto query = static_cast<std::size_t>(first + i), key = static_cast<std::size_t>(j);
                        const double bias = exact.bias(seen.head, seen.exact, query, key);
                        ASSERT_NEAR(scores.view().row(i)[j], before.row(i)[key] + bias,
                                    tolerance * std::max(4.0, std::abs(bias)))
                            << placing.name << ", head " << head << ", query " << query << ", key " << key;
                    }
                EXPECT_TRUE(scores.guarded());
            }
        }
}

// Fills the stack with values that would be noticed if later code read uninitialised memory.
[[gnu::noinline]] void leave_nothing_usable() {
    volatile float left[40000];
    for (volatile float& value : left) value = std::numeric_limits<float>::quiet_NaN();
}

// Rows of one key and of many, with scores that are low, balanced, high, and so high that a sigmoid is 1. A sink of the
// same encoding reads the number of the row.
TEST_P(EncodingOracle, Rescores) {
    const Placing text = subject.placings()[1];
    for (const int layer : {0, 1}) {
        if (!(stack.layer(layer).moments() & moment_rescore)) continue;
        const LayerOracles exact(subject, layer, text.ids);
        Seen seen(subject, exact, layer, {text.ids, subject.axes});
        for (const int keys : {1, 2, 5, 15, 16, 17, 63, 64, 65, 129})
            for (const float mean : {-4.0f, 0.0f, 3.0f, 60.0f}) {
                Tile tile = seen.tile(keys % subject.dims.n_heads, keys - 1, 1, keys);
                float number = 0;
                if (stack.layer(layer).moments() & moment_sink) tile.rescored = &number;
                InnerRows scores(1, keys, static_cast<std::uint64_t>(20 + keys));
                for (int j = 0; j < keys; ++j) scores.view().row(0)[j] += mean;
                std::vector<double> expected = scores.row(0);
                leave_nothing_usable();
                stack.layer(layer).rescore(scores.view(), tile);
                const double sink = exact.rescore(expected, seen.head, seen.exact, static_cast<std::size_t>(keys - 1));
                if (tile.rescored)
                    expect_row({stack.layer(layer).sink(tile)}, {sink}, std::to_string(keys) + " keys, sink",
                               of_products);
                expect_row(scores.row(0), expected, std::to_string(keys) + " keys", of_products);
                EXPECT_TRUE(scores.guarded());
            }
    }
}

TEST_P(EncodingOracle, Mixes) {
    for (const Placing& placing : subject.placings())
        for (const int layer : {0, 1}) {
            if (!(stack.layer(layer).moments() & moment_mix)) continue;
            const LayerOracles exact(subject, layer, placing.ids);
            Seen seen(subject, exact, layer, {placing.ids, subject.axes});
            const int first = seen.n - placing.queries;
            const Tile tile = seen.tile(1, first, placing.queries, seen.n);
            InnerRows out(placing.queries, subject.dims.d_head, 6), before = out, weights(placing.queries, seen.n, 7);
            subject.hide(weights, first);
            stack.layer(layer).mix(out.view(), weights.view(), tile);
            for (int i = 0; i < placing.queries; ++i) {
                std::vector<double> expected = before.row(i);
                for (int j = 0; j < seen.n; ++j)
                    exact.mix(expected, weights.row(i)[j], seen.head, seen.exact, static_cast<std::size_t>(first + i),
                              static_cast<std::size_t>(j));
                expect_row(out.row(i), expected, placing.name + ", query " + std::to_string(first + i), of_products);
            }
            EXPECT_TRUE(out.guarded());
        }
}

// Another content of a part that is read changes the result. Seen::tile() leaves out the parts that are not read.
TEST_P(EncodingOracle, ReadsWhatItNames) {
    if (GetParam().at_limits) return; // vectors of zeros
    const LayerEncodings& encodings = stack.layer(1);
    Seen seen(subject, oracles(1), 1, positions());
    const Tile tile = seen.tile(1, n - 1, 1, n);
    const auto result = [&](const Tile& of) {
        InnerRows scores(1, n, 5), out(1, subject.dims.d_head, 6);
        encodings.bias(scores.view(), of);
        encodings.rescore(scores.view(), of);
        encodings.mix(out.view(), scores.view(), of);
        for (const Role role : all_roles) encodings.rotate(out.view(), {1, 1, 1, role, of.queries, of.query_state});
        std::vector<float> all = scores.values();
        for (const float value : out.values()) all.push_back(value);
        all.push_back(encodings.sink(of));
        return all;
    };
    const auto changed = [&](View Tile::*part, int rows) {
        InnerRows other(rows, (tile.*part).cols, 77);
        Tile of = tile;
        of.*part = other.view();
        return result(of) != result(tile);
    };
    const auto expect = [&](bool reads, const std::function<bool()>& changes) { EXPECT_TRUE(!reads || changes()); };
    expect(encodings.reads() & reads_queries, [&] { return changed(&Tile::q, 1); });
    expect(encodings.reads() & reads_keys, [&] { return changed(&Tile::k, n); });
    const unsigned any_state = reads_state | reads_query_state;
    expect(encodings.reads() & any_state,
           [&] { return changed(&Tile::query_state, 1) || changed(&Tile::key_state, n); });
    EXPECT_EQ((encodings.reads() & any_state) != 0, seen.observes());
}

// Sinks of encodings without RESCORE; see Rescores.
TEST_P(EncodingOracle, Sinks) {
    for (const int layer : {0, 1}) {
        if (stack.layer(layer).moments() & moment_rescore) continue;
        const LayerOracles exact = oracles(layer);
        Seen seen(subject, exact, layer, positions());
        for (int head = 0; head < subject.dims.n_heads; ++head)
            for (const int query : {0, n - 1}) {
                const Tile tile = seen.tile(head, query, 1, 0);
                expect_row({stack.layer(layer).sink(tile)},
                           {exact.sink(seen.head, seen.exact, static_cast<std::size_t>(query))},
                           "query " + std::to_string(query), seen.observes() ? of_products : 1e-6);
            }
    }
}

INSTANTIATE_TEST_SUITE_P(All, EncodingOracle, testing::ValuesIn(cases_with_limits()), encoding_case_name);

// Sums over 20,000 tokens, which a float holds only to 0.001.
TEST(EncodingOracleFar, KeepsTheDifferencesOfSums) {
    const Subject subject({"alibi+forget+cope", even_dims});
    std::vector<int> at(20000);
    std::iota(at.begin(), at.end(), 0);
    const LayerOracles exact(subject, 1, at);
    Seen seen(subject, exact, 1, at);
    const int first = seen.n - 8;
    Tile tile = seen.tile(1, first, 8, seen.n);
    tile.first_key = first;
    tile.keys = tile.queries;
    tile.key_state = tile.query_state;
    InnerRows scores(8, 8, 5), before = scores;
    subject.stack.layer(1).bias(scores.view(), tile);
    for (int i = 0; i < 8; ++i)
        for (int j = 0; j <= i; ++j)
            EXPECT_NEAR(scores.view().row(i)[j] - before.view().row(i)[j],
                        exact.bias(seen.head, seen.exact, static_cast<std::size_t>(first + i),
                                   static_cast<std::size_t>(first + j)),
                        1e-5)
                << i << ", " << j;
}

// ---- CoPE's count, where rounding or a NaN could let it read outside its table --------------------

std::pair<std::vector<double>, std::vector<double>> rescored(const std::string& spec,
                                                             const std::vector<float>& scores) {
    const Subject subject({spec, even_dims});
    const std::vector<int> at(scores.size());
    const LayerOracles exact(subject, 1, at);
    Seen seen(subject, exact, 1, at);
    InnerRows row(1, seen.n, 5);
    std::copy(scores.begin(), scores.end(), row.view().row(0));
    std::vector<double> expected = row.row(0);
    const Tile tile = seen.tile(2, seen.n - 1, 1, seen.n);
    leave_nothing_usable();
    subject.stack.layer(1).rescore(row.view(), tile);
    if (std::none_of(scores.begin(), scores.end(), [](float score) { return std::isnan(score); }))
        exact.rescore(expected, seen.head, seen.exact, scores.size() - 1);
    EXPECT_TRUE(row.guarded());
    return {row.row(0), expected};
}

// Keys after a NaN score equal those of a row without it. CoPE skips the keys before it, and stays in its table.
TEST(Cope, AScoreThatIsNoNumberEndsTheCount) {
    for (const std::size_t keys : {40, 200}) {
        std::vector<float> scores;
        for (std::size_t j = 0; j < keys; ++j) scores.push_back(static_cast<float>(Random(21, 0).normal(j)));
        const std::vector<double> rest = rescored("cope:positions=300", scores).first;
        scores[keys / 2] = std::numeric_limits<float>::quiet_NaN();
        const std::vector<double> row = rescored("cope:positions=300", scores).first;
        EXPECT_TRUE(std::isnan(row[keys / 2]));
        for (std::size_t j = keys / 2 + 1; j < keys; ++j) EXPECT_EQ(row[j], rest[j]) << j;
    }
}

// Rounding alone may carry a sum to the last position. The keys before the full ones must then use neighbours that
// exist. Gates of 1e-12 leave the sums of their neighbours unchanged, which may have been rounded up. With 16 positions
// a whole product fills the table, and nothing follows it; 14 keys of the last run then count.
TEST(Cope, ACountThatRoundsUpToTheLastPositionIsFull) {
    const auto score_of = [](double gate) { return static_cast<float>(std::log(gate / (1 - gate))); };
    for (const int positions : {2, 16})
        for (const std::size_t keys : {3, 4, 5, 7, 8, 15, 16, 17})
            for (int ulps = -40; ulps <= 40; ++ulps) {
                std::vector<float> scores(keys - 3, score_of(1e-12));
                for (const double gate : {0.15207464, 0.12842491, 0.71950042}) scores.push_back(score_of(gate));
                for (int i = 0; i < std::abs(ulps); ++i)
                    scores.back() = std::nextafter(scores.back(), ulps > 0 ? 9.0f : -9.0f);
                for (int i = 0; positions == 16 && i < 16; ++i) scores.push_back(i < 14 ? 60.0f : -200.0f);
                const auto [found, expected] = rescored("cope:positions=" + std::to_string(positions), scores);
                for (std::size_t j = 0; j < keys; ++j) ASSERT_NEAR(found[j], expected[j], 5e-5) << keys << " " << ulps;
            }
}

} // namespace oracle_test
} // namespace ordo
