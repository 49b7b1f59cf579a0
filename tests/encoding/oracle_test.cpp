// SPDX-License-Identifier: MIT
// Compares every moment of every registered encoding with its oracle. Gradients are in oracle_gradient_test.cpp, bits
// in encoding_bits_test.cpp, whole models in contract_test.cpp.
#include "tests/encoding/subject.h"

#include <cmath>

namespace ordo {
namespace oracle_test {

// The tolerance is relative to the largest number in the row.
void expect_row(const std::vector<double>& found, const std::vector<double>& expected, const std::string& what,
                double tolerance = 1e-6) {
    double size = 1;
    for (const double value : expected) size = std::max(size, std::abs(value));
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t j = 0; j < found.size(); ++j)
        EXPECT_NEAR(found[j], expected[j], tolerance * size) << what << ", column " << j;
}

constexpr double of_products = 1e-5; // for sums of products that partly cancel

class EncodingOracle : public testing::TestWithParam<EncodingCase> {
protected:
    void SetUp() override { ORDO_EXPECT_COMPLETE(*subject.oracles); }
    Positions positions() const { return {at, subject.axes}; }
    Positions positions(int first, int count) const { return positions().subspan(first, count); }
    LayerOracles oracles(int layer) const { return {subject, layer, at}; }

    Subject subject{GetParam()};
    const EncodingStack& stack = subject.stack;
    std::vector<int> at = subject.positions();
    int n = static_cast<int>(positions().size());
    std::vector<int> segments = subject.segments(positions().size());
};

TEST_P(EncodingOracle, Embeds) {
    InnerRows x(n, subject.dims.d_model, 3), before = x;
    stack.embed(x.view(), {positions(), segments});
    for (int i = 0; i < n; ++i) {
        const auto row = static_cast<std::size_t>(i);
        std::vector<double> expected = before.row(i);
        for (const auto* oracle : subject.oracles->all()) oracle->embed(expected, oracles(0).place(row), segments[row]);
        expect_row(x.row(i), expected, "row " + std::to_string(i));
    }
    EXPECT_TRUE(x.guarded());
}

TEST_P(EncodingOracle, EmbedsWithoutSegmentsAsSegmentZero) {
    InnerRows x(n, subject.dims.d_model, 3), y = x;
    const std::vector<int> zeros(static_cast<std::size_t>(n), 0);
    stack.embed(x.view(), {positions(), {}});
    stack.embed(y.view(), {positions(), zeros});
    EXPECT_EQ(x.values(), y.values());
}

// One call and several calls give the same bits. Each later call receives the final state of the call before. The
// moments that read the state check its meaning.
TEST_P(EncodingOracle, Observes) {
    for (const int layer : {0, 1}) {
        const LayerEncodings& encodings = stack.layer(layer);
        const int width = encodings.state_floats();
        ASSERT_EQ(width > 0, (encodings.moments() & moment_observe) != 0);
        if (width == 0) continue;
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
    for (const int layer : {0, 1})
        for (const Role role : {Role::query, Role::key})
            for (const auto& [first, count] : {std::pair{0, heads}, {1, heads - 1}}) {
                InnerRows x(n, count * e, 4), before = x;
                stack.layer(layer).rotate(x.view(), {layer, first, count, role, positions()});
                for (int i = 0; i < n; ++i)
                    for (int h = 0; h < count; ++h) {
                        const std::vector<double> old = before.row(i), now = x.row(i);
                        std::vector<double> expected(old.begin() + h * e, old.begin() + (h + 1) * e);
                        oracles(layer).rotate(expected, static_cast<std::size_t>(i), role, first + h);
                        expect_row({now.begin() + h * e, now.begin() + (h + 1) * e}, expected,
                                   "row " + std::to_string(i) + ", head " + std::to_string(first + h));
                    }
                EXPECT_TRUE(x.guarded());
            }
}

// A tile with keys before, at and after its queries. Masked scores do not count.
TEST_P(EncodingOracle, Biases) {
    for (const int layer : {0, 1}) {
        const LayerOracles exact = oracles(layer);
        Seen seen(subject, exact, layer, positions());
        const double tolerance = stack.layer(layer).reads() != 0 ? of_products : 1e-6;
        for (int head = 0; head < subject.dims.n_heads; ++head) {
            const Tile tile = seen.tile(head, 2, n - 2, n);
            InnerRows scores(n - 2, n, 5), before = scores;
            stack.layer(layer).bias(scores.view(), tile);
            for (int i = 0; i < n - 2; ++i)
                for (int j = 0; j < n; ++j) {
                    if (!subject.sees(i + 2, j)) continue;
                    const auto query = static_cast<std::size_t>(i + 2), key = static_cast<std::size_t>(j);
                    const double bias = exact.bias(seen.head, seen.exact, query, key);
                    EXPECT_NEAR(scores.view().row(i)[j], before.row(i)[key] + bias,
                                tolerance * std::max(4.0, std::abs(bias)))
                        << "head " << head << ", query " << query << ", key " << key;
                }
            EXPECT_TRUE(scores.guarded());
        }
    }
}

// Rows of one key and of many keys.
TEST_P(EncodingOracle, Rescores) {
    for (const int layer : {0, 1}) {
        const LayerOracles exact = oracles(layer);
        Seen seen(subject, exact, layer, positions());
        for (int i = 0; i < n; ++i) {
            const int keys = subject.sees(0, n - 1) ? n : i + 1;
            const Tile tile = seen.tile(i % subject.dims.n_heads, i, 1, keys);
            InnerRows scores(1, keys, static_cast<std::uint64_t>(20 + i));
            std::vector<double> expected = scores.row(0);
            stack.layer(layer).rescore(scores.view(), tile);
            exact.rescore(expected, seen.head, seen.exact, static_cast<std::size_t>(i));
            expect_row(scores.row(0), expected, "query " + std::to_string(i), of_products);
            EXPECT_TRUE(scores.guarded());
        }
    }
}

TEST_P(EncodingOracle, Mixes) {
    for (const int layer : {0, 1}) {
        const LayerOracles exact = oracles(layer);
        Seen seen(subject, exact, layer, positions());
        const Tile tile = seen.tile(1, 2, n - 2, n);
        InnerRows out(n - 2, subject.dims.d_head, 6), before = out, weights(n - 2, n, 7);
        for (int i = 0; i < n - 2; ++i)
            for (int j = 0; j < n; ++j)
                if (!subject.sees(i + 2, j)) weights.view().row(i)[j] = 0;
        stack.layer(layer).mix(out.view(), weights.view(), tile);
        for (int i = 0; i < n - 2; ++i) {
            std::vector<double> expected = before.row(i);
            for (int j = 0; j < n; ++j)
                exact.mix(expected, weights.row(i)[j], seen.head, seen.exact, static_cast<std::size_t>(i + 2),
                          static_cast<std::size_t>(j));
            expect_row(out.row(i), expected, "query " + std::to_string(i + 2), of_products);
        }
        EXPECT_TRUE(out.guarded());
    }
}

TEST_P(EncodingOracle, Sinks) {
    for (const int layer : {0, 1})
        for (int head = 0; head < subject.dims.n_heads; ++head) {
            double total = 0;
            for (const auto* oracle : subject.oracles->layer(layer)) total += std::exp(oracle->sink(layer, head));
            if (total == 0)
                EXPECT_EQ(stack.layer(layer).sink(head), -std::numeric_limits<float>::infinity());
            else
                EXPECT_NEAR(stack.layer(layer).sink(head), std::log(total), 1e-6);
        }
}

INSTANTIATE_TEST_SUITE_P(All, EncodingOracle, testing::ValuesIn(encoding_cases()), encoding_case_name);

// Values that depend on a session's length.
TEST(EncodingOracleAtLength, FollowsTheSession) {
    for (const char* spec : {"rope:scaling=dynamic,factor=2,original=40",
                             "rope:scaling=longrope,original=40,factor=2,width=6,short=1/1.5/2,long=1/3/4"})
        for (const int length : {20, 40, 41, 64, 100}) {
            const Subject subject({spec, odd_dims});
            const reference::Oracles exact(subject.stack.spec(), subject.dims, subject.tensors, length);
            const auto instead = subject.stack.at_length(length, 16);
            const EncodingStack& stack = instead ? *instead : subject.stack;
            const std::vector<int> at = {0, 1, 15, 39, 500};
            InnerRows x(5, 6, 4), before = x;
            stack.layer(0).rotate(x.view(), {0, 0, 1, Role::key, at});
            for (int i = 0; i < 5; ++i) {
                std::vector<double> expected = before.row(i);
                for (const auto* oracle : exact.all()) oracle->rotate(expected, {at[i]}, Role::key, 0, 0);
                expect_row(x.row(i), expected, std::string(spec) + " in " + std::to_string(length) + " tokens");
            }
            // The stack's spec, built on its own, gives the same results.
            const reference::Oracles again(stack.spec(), subject.dims, subject.tensors);
            std::vector<double> a(6, 1), b(6, 1);
            exact.all()[0]->rotate(a, {77}, Role::key, 0, 0);
            again.all()[0]->rotate(b, {77}, Role::key, 0, 0);
            EXPECT_EQ(a, b) << stack.spec();
        }
}

} // namespace oracle_test
} // namespace ordo
