// SPDX-License-Identifier: MIT
// A bias by distance equals its closed form at every distance, however many distances its table holds.
#include "encoding/base/distance_table.h"

#include "core/random.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <numeric>

namespace ordo {
namespace distance_table_test {

// A different number for each row and distance, exact in a float.
float bias_of(int row, std::int64_t distance) {
    return static_cast<float>(1000000 * row + distance);
}

std::vector<int> from(int first, int count) {
    std::vector<int> positions(static_cast<std::size_t>(count));
    std::iota(positions.begin(), positions.end(), first);
    return positions;
}

struct Case {
    std::vector<int> queries, keys;
};
const std::vector<Case> cases = {
    {{5}, from(0, 6)},
    {from(0, 9), from(0, 9)},
    {from(10, 4), from(3, 20)},
    {{1000, 1001}, from(0, 40)},        // beyond a small table, for earlier keys
    {{0, 1}, from(0, 900)},             // and for later keys
    {from(60, 3), from(0, 64)},         // across the table's end
    {{7, 3, 3}, {0, 2, 3, 3, 9, 5}},    // gaps, repeats, no order
    {{4, 5}, {1, 2, 2, 4}},             // consecutive at the ends but not between
    {{2000000000}, {0, 1, 2000000000}}, // the largest distances of an int
    {{0}, {2000000000, 2000000001}},
    {{3}, {}},
    {{}, {1, 2}},
};

TEST(DistanceTable, AddsTheClosedFormAtEveryDistance) {
    for (const bool ahead : {false, true})
        for (const int prepared : {-1, 0, 1, 8, 64, 1200}) {
            DistanceTable table(3, ahead, bias_of);
            if (prepared >= 0) table.prepare(prepared);
            for (const Case& of : cases) {
                const auto n_queries = static_cast<int>(of.queries.size()), n_keys = static_cast<int>(of.keys.size());
                Tensor scores(n_queries + 1, n_keys + 3); // the row stride exceeds the row length
                const View part = cols_of(scores.view(n_queries), 0, n_keys);
                table.add(part, 2, {.queries = of.queries, .keys = of.keys});
                for (int i = 0; i < n_queries; ++i)
                    for (int j = 0; j < n_keys + 3; ++j) {
                        const auto query = static_cast<std::size_t>(i), key = static_cast<std::size_t>(j);
                        const float expected =
                            j < n_keys ? bias_of(2, std::int64_t{of.queries[query]} - of.keys[key]) : 0;
                        ASSERT_EQ(scores.view().row(i)[j], expected) << prepared << ": " << i << ", " << j;
                    }
            }
        }
}

TEST(DistanceTable, ReadsTheFirstOfSeveralAxes) {
    DistanceTable table(1, false, bias_of);
    table.prepare(16);
    const std::vector<int> queries = {9, 70}, keys = {4, 50, 5, 60, 6, 80}; // [1, 2] and [3, 2]
    Tensor scores(1, 3);
    table.add(scores.view(), 0, {.queries = {queries, 2}, .keys = {keys, 2}});
    for (int j = 0; j < 3; ++j) EXPECT_EQ(scores.data()[j], 5.0f - static_cast<float>(j));
}

TEST(DistanceTable, AddsToWhatIsThere) {
    DistanceTable table(1, true, bias_of);
    table.prepare(4);
    Tensor scores(1, 5);
    for (int j = 0; j < 5; ++j) scores.data()[j] = 100;
    const std::vector<int> queries = {2}, keys = from(0, 5);
    table.add(scores.view(), 0, {.queries = queries, .keys = keys});
    for (int j = 0; j < 5; ++j) EXPECT_EQ(scores.data()[j], 100.0f + static_cast<float>(2 - j));
}

// prepare() recomputes the table from the current parameters and keeps the greatest length.
TEST(DistanceTable, IsComputedAgain) {
    float slope = 1;
    std::atomic<int> calls = 0;
    DistanceTable table(2, false, [&](int, std::int64_t distance) {
        ++calls;
        return slope * static_cast<float>(distance);
    });
    table.prepare(100);
    slope = 2;
    table.prepare(10);
    const std::vector<int> queries = {99}, keys = from(0, 100);
    Tensor scores(1, 100);
    calls = 0;
    table.add(scores.view(), 1, {.queries = queries, .keys = keys});
    EXPECT_EQ(calls, 0) << "all of these distances were prepared";
    EXPECT_EQ(scores.data()[0], 198);
    EXPECT_EQ(table.value(0, 99), 198);
    EXPECT_EQ(table.value(0, 100), 200);
    EXPECT_EQ(calls, 1);
}

TEST(DistanceTable, IsBoundedInMemory) {
    DistanceTable table(1 << 14, true, [](int row, std::int64_t) { return static_cast<float>(row); });
    table.prepare(1 << 22); // 2^14 x 2^23 floats would be 512 GiB
    EXPECT_EQ(table.value(5, 4000000), 5);
}

TEST(DistanceTable, SumsGradientsByDistance) {
    for (const Case& of : cases) {
        const auto n_queries = static_cast<int>(of.queries.size()), n_keys = static_cast<int>(of.keys.size());
        Tensor d_scores(n_queries, n_keys);
        std::map<std::int64_t, double> expected, found;
        for (int i = 0; i < n_queries; ++i)
            for (int j = 0; j < n_keys; ++j) {
                const auto g = static_cast<float>(Random(3, 0).normal(static_cast<std::uint64_t>(i * n_keys + j)));
                d_scores.view().row(i)[j] = g;
                expected[std::int64_t{of.queries[i]} - of.keys[j]] += g;
            }
        sum_by_distance(d_scores.view(), {.queries = of.queries, .keys = of.keys},
                        [&](std::int64_t distance, float sum) { found[distance] += sum; });
        ASSERT_EQ(found.size(), expected.size());
        for (const auto& [distance, sum] : expected) EXPECT_NEAR(found[distance], sum, 1e-5);
    }
}

} // namespace distance_table_test
} // namespace ordo
