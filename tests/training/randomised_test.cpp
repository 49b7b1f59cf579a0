// SPDX-License-Identifier: MIT
#include "training/randomised.h"

#include "tests/model/small_models.h"
#include "training/network.h"

#include <gtest/gtest.h>

#include <numeric>

namespace ordo {
namespace {

std::vector<int> drawn(std::uint64_t seed, std::uint64_t sequence, int n, int below) {
    std::vector<int> out(static_cast<std::size_t>(n), -1);
    randomised_positions(seed, sequence, below, out);
    return out;
}

TEST(RandomisedPositions, AreSortedUniqueAndInRange) {
    for (const auto& [n, below] : {std::pair{1, 1}, {1, 9}, {7, 8}, {8, 8}, {24, 300}, {256, 2048}})
        for (std::uint64_t sequence = 0; sequence < 50; ++sequence) {
            const std::vector<int> p = drawn(3, sequence, n, below);
            EXPECT_GE(p.front(), 0);
            EXPECT_LT(p.back(), below);
            for (std::size_t i = 1; i < p.size(); ++i) EXPECT_LT(p[i - 1], p[i]);
        }
}

TEST(RandomisedPositions, AreThoseOfTheirSeedAndSequence) {
    EXPECT_EQ(drawn(3, 5, 24, 300), drawn(3, 5, 24, 300));
    EXPECT_NE(drawn(3, 5, 24, 300), drawn(3, 6, 24, 300));
    EXPECT_NE(drawn(3, 5, 24, 300), drawn(4, 5, 24, 300));
}

// Each of the C(5, 2) = 10 subsets is equally likely: 2000 of 20000 each, with a deviation of sqrt(20000 0.1 0.9) = 42.
TEST(RandomisedPositions, EverySubsetIsAsLikely) {
    std::map<std::vector<int>, int> count;
    for (std::uint64_t sequence = 0; sequence < 20000; ++sequence) ++count[drawn(1, sequence, 2, 5)];
    ASSERT_EQ(count.size(), 10u);
    for (const auto& [subset, times] : count) EXPECT_NEAR(times, 2000, 5 * 42);
}

TEST(EvenPositions, AreTheMeanOfTheDraws) {
    constexpr int n = 12, below = 100, draws = 20000;
    std::vector<double> mean(n);
    for (std::uint64_t sequence = 0; sequence < draws; ++sequence) {
        const std::vector<int> p = drawn(7, sequence, n, below);
        for (std::size_t i = 0; i < n; ++i) mean[i] += static_cast<double>(p[i]) / draws;
    }
    std::vector<int> even(n);
    even_positions(below, even);
    for (std::size_t i = 0; i < n; ++i) { // rounded down; the mean of the draws has a deviation below 0.12
        EXPECT_GT(mean[i] + 0.5, even[i]);
        EXPECT_LT(mean[i] - 0.5, even[i] + 1);
    }
    for (const int length : {1, 9, 10, 4096}) { // all positions
        std::vector<int> all(static_cast<std::size_t>(length)), counted(all.size());
        even_positions(length, all);
        std::iota(counted.begin(), counted.end(), 0);
        EXPECT_EQ(all, counted);
        even_positions(length + 1, all);
        EXPECT_TRUE(std::adjacent_find(all.begin(), all.end(), std::greater_equal<>()) == all.end());
        EXPECT_LE(all.back(), length);
    }
}

// Compares the loss at such positions, and its derivative along the gradient of each tensor, with the double-precision
// oracle.
TEST(RandomisedPositions, LossAndGradientAgreeWithTheOracle) {
    Blueprint b;
    b.vocab_size = 23;
    b.context = 8;
    b.n_layers = 2;
    b.n_heads = 4;
    b.n_kv_heads = 2;
    b.d_head = 4;
    b.d_model = 16;
    b.d_ff = 20;
    constexpr int batch = 2, below = 60;
    const auto n = static_cast<std::size_t>(b.context);
    for (const std::string spec :
         {"rope", "alibi:trained=yes", "kerple", "t5", "fire", "forget", "xpos", "sinusoidal"}) {
        SCOPED_TRACE(spec);
        ModelEncodings encodings(spec, b.dims());
        Parameters parameters(b, encodings);
        parameters.initialise(3);
        const Random noise(11, 2);
        for (std::size_t i = 0; i < parameters.values().size(); ++i)
            parameters.values()[i] += static_cast<float>(0.2 * noise.normal(i));
        reference::Tensors tensors;
        for (int i = 0; i < parameters.count(); ++i) {
            const View v = parameters.value(i);
            reference::Matrix m(v.rows, v.cols);
            std::copy_n(v.data, m.values.size(), m.values.begin());
            tensors[parameters.specs()[i].name] = m;
        }
        const reference::Oracles oracles(encodings.spec(), b.dims(), tensors);
        ORDO_EXPECT_COMPLETE(oracles);
        const std::vector<Token> tokens = random_tokens(batch * b.context, b.vocab_size, 5),
                                 targets = random_tokens(batch * b.context, b.vocab_size, 6);
        std::vector<int> positions(tokens.size());
        for (std::size_t s = 0; s < batch; ++s)
            randomised_positions(1, s, below, std::span(positions).subspan(s * n, n));
        const auto oracle_loss = [&] {
            const reference::Transformer transformer(b, tensors, oracles);
            double total = 0;
            for (std::size_t s = 0; s < batch; ++s) {
                const auto part = [&](const std::vector<int>& all) {
                    return std::vector<int>(all.begin() + static_cast<std::ptrdiff_t>(s * n),
                                            all.begin() + static_cast<std::ptrdiff_t>((s + 1) * n));
                };
                reference::Input in;
                in.tokens = part(tokens);
                in.segments.assign(n, 0);
                in.positions = part(positions);
                total += transformer.loss(in, part(targets)) / batch;
            }
            return total;
        };
        Network network(b, encodings, parameters, batch, b.context, {1, below});
        EXPECT_NEAR(network.loss_and_grad({tokens, targets, {}, positions}), oracle_loss(), 1e-5);
        for (int i = 0; i < parameters.count(); ++i) {
            const std::string& name = parameters.specs()[i].name;
            if (!parameters.specs()[i].trainable) continue;
            std::vector<double>& values = tensors[name].values;
            const std::vector<double> original = values;
            const View g = parameters.grad(i);
            double square = 0;
            for (std::size_t j = 0; j < values.size(); ++j) square += static_cast<double>(g.data[j]) * g.data[j];
            const double length = std::sqrt(square), h = 1e-5;
            ASSERT_GT(length, 0) << name;
            double difference = 0;
            for (const double side : {1.0, -1.0}) {
                for (std::size_t j = 0; j < values.size(); ++j) values[j] = original[j] + side * h * g.data[j] / length;
                difference += side * oracle_loss() / (2 * h);
            }
            values = original;
            EXPECT_NEAR(length, difference, 1e-3 * length + 5e-8)
                << name; // a shift of all scores has a zero gradient up to rounding
        }
    }
}

TEST(RandomisedPositions, EncodingsThatDoNotReachAreRefusedByName) {
    const Blueprint b = small_blueprint();
    ModelEncodings encodings("learned", b.dims());
    Parameters parameters(b, encodings);
    Network(b, encodings, parameters, 1, 8, {1, b.context});
    try {
        Network(b, encodings, parameters, 1, 8, {1, b.context + 1});
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code, ErrorCode::limit);
        EXPECT_NE(std::string(error.what()).find("learned"), std::string::npos) << error.what();
    }
}

} // namespace
} // namespace ordo
