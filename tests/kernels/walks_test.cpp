// SPDX-License-Identifier: MIT
// Compares the walks of every instruction set with their definition (kernels.h) in double, and their backward passes
// with its central differences: with and without factors, for rows and walks of many lengths, in both directions.
#include "core/random.h"
#include "kernels/kernels.h"

#include <cmath>
#include <gtest/gtest.h>
#include <vector>

namespace ordo {
namespace walks_test {

using Doubles = std::vector<double>;

constexpr int gap = 3; // between rows

// The inputs of a walk. The order of all values is q, k, tokens, factors.
struct Inputs {
    Inputs(int steps, int columns, bool factors) : n(steps), e(columns), reflects(factors) {
        const Random random(3, static_cast<std::uint64_t>(1000 * steps + columns));
        for (int i = 0; i < e + 2 * n * (e + gap) + n; ++i)
            values.push_back(0.5 * random.normal(static_cast<std::uint64_t>(i)));
        for (double& value : values) value = static_cast<double>(static_cast<float>(value));
    }
    int row(int which, int step) const { return e + (which * n + step) * (e + gap); } // 0: of k, 1: of tokens
    int factor(int step) const { return e + 2 * n * (e + gap) + step; }

    Doubles scores(double scale) const {
        Doubles r(values.begin(), values.begin() + e), out;
        for (int step = 0; step < n; ++step) {
            const double *x = values.data() + row(1, step), *k = values.data() + row(0, step);
            double along = 0, score = 0;
            for (int c = 0; c < e; ++c) along += r[static_cast<std::size_t>(c)] * x[c];
            for (int c = 0; c < e; ++c) {
                double& value = r[static_cast<std::size_t>(c)];
                value -= reflects ? values[static_cast<std::size_t>(factor(step))] * along * x[c] : value * x[c];
                score += (value - values[static_cast<std::size_t>(c)]) * k[c];
            }
            out.push_back(scale * score);
        }
        return out;
    }

    int n, e;
    bool reflects;
    Doubles values;
};

class WalkSet : public testing::TestWithParam<const Kernels*> {};

TEST_P(WalkSet, FollowTheirDefinition) {
    const Kernels& kernels = *GetParam();
    for (const int e : {1, 3, 6, 8, 16, 32, 33, 64, 100, 128, 264})
        for (const int n : {1, 2, 5, 8, 9, 19})
            for (const int direction : {-1, 1})
                for (const bool reflects : {true, false}) {
                    Inputs in(n, e, reflects);
                    const std::vector<float> values(in.values.begin(), in.values.end());
                    // Steps go forwards or backwards through the scores, rows and factors.
                    std::vector<float> scores(static_cast<std::size_t>(n), 0.5f), rows(static_cast<std::size_t>(n * e));
                    const auto at = [&](int step) { return direction > 0 ? step : n - 1 - step; };
                    std::vector<float> ordered = values, factors;
                    for (int step = 0; step < n; ++step) {
                        for (const int which : {0, 1})
                            std::copy_n(values.data() + in.row(which, step), e,
                                        ordered.data() + in.row(which, at(step)));
                        ordered[static_cast<std::size_t>(in.factor(at(step)))] =
                            values[static_cast<std::size_t>(in.factor(step))];
                    }
                    // Factors lie one row of tokens apart.
                    std::vector<float> tokens(static_cast<std::size_t>(n * (e + gap)));
                    for (int step = 0; step < n; ++step) {
                        std::copy_n(ordered.data() + in.row(1, step), e, tokens.data() + step * (e + gap));
                        tokens[static_cast<std::size_t>(step * (e + gap) + e)] =
                            ordered[static_cast<std::size_t>(in.factor(step))];
                    }
                    const float* first = tokens.data() + at(0) * (e + gap);
                    Walk walk{.n = n,
                              .e = e,
                              .scale = 0.3f,
                              .token = first,
                              .factor = reflects ? first + e : nullptr,
                              .token_stride = direction * (e + gap),
                              .q = values.data(),
                              .k = ordered.data() + in.row(0, at(0)),
                              .k_stride = direction * (e + gap),
                              .scores = scores.data() + at(0),
                              .direction = direction,
                              .rows = rows.data(),
                              .first_alone = (n + e) % 2 == 1};
                    kernels.walk(walk);
                    const Doubles expected = in.scores(double{0.3f});
                    for (int step = 0; step < n; ++step)
                        ASSERT_NEAR(scores[static_cast<std::size_t>(at(step))] - 0.5f,
                                    expected[static_cast<std::size_t>(step)],
                                    2e-5 * std::max(1.0, std::abs(expected[static_cast<std::size_t>(step)])))
                            << e << " columns, step " << step << " of " << n;

                    std::vector<float> weights, dq(static_cast<std::size_t>(e)), dk(tokens.size()), dt(tokens.size());
                    for (int i = 0; i < n; ++i)
                        weights.push_back(static_cast<float>(Random(4, 1).normal(static_cast<std::uint64_t>(i))));
                    float* d_first = dt.data() + at(0) * (e + gap);
                    kernels.walk_backward(walk, {.scores = weights.data() + at(0),
                                                 .q = dq.data(),
                                                 .k = dk.data() + at(0) * (e + gap),
                                                 .k_stride = direction * (e + gap),
                                                 .token = d_first,
                                                 .factor = reflects ? d_first + e : nullptr,
                                                 .token_stride = direction * (e + gap)});
                    const auto loss = [&] {
                        double sum = 0;
                        const Doubles now = in.scores(double{0.3f});
                        for (int step = 0; step < n; ++step)
                            sum += now[static_cast<std::size_t>(step)] *
                                   double{weights[static_cast<std::size_t>(at(step))]};
                        return sum;
                    };
                    const auto check = [&](int index, float found) {
                        double& value = in.values[static_cast<std::size_t>(index)];
                        const double before = value;
                        value = before + 1e-5;
                        const double up = loss();
                        value = before - 1e-5;
                        const double down = loss();
                        value = before;
                        ASSERT_NEAR(found, (up - down) / 2e-5, 5e-5 * std::max(1.0, std::abs(up - down) / 2e-5))
                            << e << " columns, " << n << " steps, value " << index;
                    };
                    for (int c = 0; c < e; c += 1 + e / 8) {
                        check(c, dq[static_cast<std::size_t>(c)]);
                        for (int step = 0; step < n; step += 1 + n / 4) {
                            const auto own = static_cast<std::size_t>(at(step) * (e + gap));
                            check(in.row(0, step) + c, dk[own + static_cast<std::size_t>(c)]);
                            check(in.row(1, step) + c, dt[own + static_cast<std::size_t>(c)]);
                            if (reflects) check(in.factor(step), dt[own + static_cast<std::size_t>(e)]);
                        }
                    }
                }
}

// Queries together have the bits of one after the other, in full and part vectors, and leave their own and later keys.
TEST_P(WalkSet, GiveEachQueryItsOwnWalkTogether) {
    const Kernels& kernels = *GetParam();
    for (const int e : {1, 6, 32, 33, most_columns_together})
        for (const int queries : {1, 4, 7, 16, 24, 70})
            for (const int own : {0, 1, 8, 21})
                for (const bool reflects : {true, false}) {
                    const int first_token = queries % 3, keys = own + queries, stride = e + gap;
                    const auto rows = [&](int n, std::uint64_t seed) {
                        std::vector<float> values;
                        for (int i = 0; i < n * stride; ++i)
                            values.push_back(
                                static_cast<float>(0.4 * Random(seed, 1).normal(static_cast<std::uint64_t>(i))));
                        return values;
                    };
                    const std::vector<float> tokens = rows(keys, 5), k = rows(keys, 6), q = rows(queries, 7);
                    std::vector<float> together(static_cast<std::size_t>(queries * keys), 0.5f), alone = together;
                    const float* const factor = reflects ? tokens.data() + e : nullptr;
                    kernels.walks({.queries = queries,
                                   .own = own,
                                   .e = e,
                                   .first_token = first_token,
                                   .scale = 0.3f,
                                   .token = tokens.data(),
                                   .factor = factor,
                                   .token_stride = stride,
                                   .q = q.data(),
                                   .q_stride = stride,
                                   .k = k.data(),
                                   .k_stride = stride,
                                   .scores = together.data(),
                                   .scores_stride = keys});
                    for (int i = 0; i < queries; ++i) {
                        const int at = own + i;
                        if (at == 0) continue;
                        kernels.walk({.n = at,
                                      .e = e,
                                      .scale = 0.3f,
                                      .token = tokens.data() + at * stride,
                                      .factor = reflects ? factor + at * stride : nullptr,
                                      .token_stride = -stride,
                                      .q = q.data() + i * stride,
                                      .k = k.data() + (at - 1) * stride,
                                      .k_stride = -stride,
                                      .scores = alone.data() + i * keys + at - 1,
                                      .direction = -1,
                                      .first_alone = (first_token + at) % 2 == 1});
                    }
                    for (std::size_t i = 0; i < alone.size(); ++i)
                        ASSERT_EQ(together[i], alone[i])
                            << e << " columns, query " << i / static_cast<std::size_t>(keys) << " of " << queries
                            << ", key " << i % static_cast<std::size_t>(keys);
                }
}

INSTANTIATE_TEST_SUITE_P(InstructionSets, WalkSet,
                         testing::ValuesIn(available_kernels().begin(), available_kernels().end()),
                         [](const auto& set) { return std::string(set.param->name); });

} // namespace walks_test
} // namespace ordo
