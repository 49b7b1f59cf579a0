// SPDX-License-Identifier: MIT
#include "core/random.h"
#include "layers/kv_cache.h"

#include <array>

#include <gtest/gtest.h>

namespace ordo {
namespace {

class KvCaches : public testing::TestWithParam<CacheType> {};

// What was stored comes back through the products: with a query of one 1 the scores are a column of the
// keys, with a single weight the sum is a row of values.
TEST_P(KvCaches, KeysAndValuesLieWhereTheirSlotSays) {
    constexpr int layers = 2, heads = 3, e = 5, capacity = 130;
    const KvCacheShape shape{layers, heads, e, capacity, GetParam()};
    KvCache cache(shape);
    EXPECT_EQ(cache.capacity(), capacity);
    const unsigned element = GetParam() == CacheType::f32 ? 4 : 2;
    EXPECT_EQ(KvCache::bytes(shape), 2u * element * layers * heads * e * 192 + 4 * capacity); // three slabs of 64
    // A number that says where it belongs, and that half a float can hold: up to 2048.
    const auto value = [](int layer, int slot, int column, int kind) {
        return static_cast<float>((slot * 15 + column + layer * 7) % 1000 * 2 + kind);
    };
    for (int layer = 0; layer < layers; ++layer)
        for (int first = 0; first < capacity; first += 13) {
            const int n = std::min(13, capacity - first);
            Tensor k(n, heads * e), v(n, heads * e);
            for (int i = 0; i < n; ++i)
                for (int c = 0; c < heads * e; ++c) {
                    k.view().row(i)[c] = value(layer, first + i, c, 0);
                    v.view().row(i)[c] = value(layer, first + i, c, 1);
                }
            // Some heads of some rows at a time are as good as all at once.
            cache.store(layer, 0, first, cols_of(k.view(), 0, e), cols_of(v.view(), 0, e));
            cache.store(layer, 1, first, cols_of(k.view(), e, 2 * e), cols_of(v.view(), e, 2 * e));
        }
    for (int layer = 0; layer < layers; ++layer)
        for (int head = 0; head < heads; ++head)
            for (int j = 0; j < e; ++j)
                for (int slab = 0; slab < 3; ++slab) {
                    Tensor q(2, e), scores(2, 64), weights(2, 64), out(2, e);
                    q.view().row(1)[j] = 1;
                    const int width = std::min(64, capacity - 64 * slab);
                    cache.multiply_keys(layer, head, slab, 0.5f, q.view(), cols_of(scores.view(), 0, width));
                    for (int i = 0; i < width; ++i) {
                        EXPECT_EQ(scores.view().row(0)[i], 0);
                        EXPECT_EQ(scores.view().row(1)[i], 0.5f * value(layer, 64 * slab + i, head * e + j, 0));
                    }
                    const int chosen = (j * 17 + head) % width;
                    weights.view().row(1)[chosen] = 2;
                    cache.multiply_values(layer, head, 64 * slab, cols_of(weights.view(), 0, width), out.view());
                    for (int c = 0; c < e; ++c) {
                        EXPECT_EQ(out.view().row(0)[c], 0);
                        EXPECT_EQ(out.view().row(1)[c], 2 * value(layer, 64 * slab + chosen, head * e + c, 1));
                    }
                }
}

INSTANTIATE_TEST_SUITE_P(Types, KvCaches, testing::Values(CacheType::f32, CacheType::f16),
                         [](const auto& test) { return test.param == CacheType::f32 ? "f32" : "f16"; });

TEST(KvCachePositions, AreKeptApartFromSlots) {
    KvCache cache({.n_layers = 1, .n_kv_heads = 1, .d_head = 2, .capacity = 4, .axes = 2});
    cache.set_position(0, std::array{7, 0});
    cache.set_position(3, std::array{0, 9});
    const Positions last = cache.positions(2, 2);
    EXPECT_EQ(last.size(), 2u);
    EXPECT_EQ(last.axes(), 2);
    EXPECT_EQ(last.at(1, 1), 9);
    EXPECT_EQ(last[1], 0);
    EXPECT_EQ(cache.positions(0, 1)[0], 7);
}

TEST(KvCachePositions, AreKnownToFollowEachOtherAsLongAsTheyDo) {
    KvCache cache({.n_layers = 1, .n_kv_heads = 1, .d_head = 2, .capacity = 8});
    const auto place = [&](int slot, int id) { cache.set_position(slot, std::span(&id, 1)); };
    const auto known = [&](int first, int count) { return cache.positions(first, count).known_consecutive(); };
    for (int slot = 0; slot < 4; ++slot) place(slot, 5 + slot);
    EXPECT_TRUE(known(0, 4));
    EXPECT_TRUE(known(1, 2));
    EXPECT_FALSE(known(0, 5)) << "the last is not placed yet";
    place(4, 10); // a gap
    place(5, 11);
    EXPECT_TRUE(known(0, 4));
    EXPECT_FALSE(known(0, 6));
    EXPECT_FALSE(known(3, 2));
    place(2, 0); // the sequence was cut off there and goes on with another id
    place(3, 1);
    EXPECT_TRUE(known(0, 2));
    EXPECT_FALSE(known(0, 4));
    place(0, 9); // begun anew
    place(1, 10);
    place(2, 11);
    EXPECT_TRUE(known(0, 3));
    EXPECT_FALSE(known(0, 4)) << "a slot that is left of the sequence before";
    place(0, 9);
    place(1, 9); // repeated
    EXPECT_FALSE(known(0, 2));
}

} // namespace
} // namespace ordo
