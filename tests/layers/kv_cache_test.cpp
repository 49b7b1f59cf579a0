// SPDX-License-Identifier: MIT
#include "core/random.h"
#include "layers/kv_cache.h"

#include <gtest/gtest.h>

namespace ordo {
namespace {

TEST(KvCaches, KeysAndValuesLieWhereTheirSlotSays) {
    constexpr int layers = 2, heads = 3, e = 5, capacity = 130;
    KvCache cache(layers, heads, e, capacity);
    EXPECT_EQ(cache.capacity(), capacity);
    EXPECT_EQ(KvCache::floats(layers, heads, e, capacity), 2u * layers * heads * e * 192); // three blocks of 64
    // A number that says where it belongs.
    const auto value = [](int layer, int slot, int column, int kind) {
        return static_cast<float>(((layer * 1000 + slot) * 100 + column) * 2 + kind);
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
            cache.store(layer, first, k.view(), v.view());
        }
    for (int layer = 0; layer < layers; ++layer)
        for (int head = 0; head < heads; ++head)
            for (int slot = 0; slot < capacity; ++slot)
                for (int j = 0; j < e; ++j) {
                    EXPECT_EQ(cache.keys(layer, head, slot / 64)[j * 64 + slot % 64],
                              value(layer, slot, head * e + j, 0));
                    EXPECT_EQ(cache.values(layer, head)[slot * e + j], value(layer, slot, head * e + j, 1));
                }
}

TEST(KvCaches, PositionsAreKeptApartFromSlots) {
    KvCache cache(1, 1, 2, 4);
    cache.positions()[0] = 7;
    cache.positions()[3] = 7;
    EXPECT_EQ(cache.positions().size(), 4u);
    EXPECT_EQ(cache.positions()[3], 7);
    EXPECT_EQ(cache.positions()[1], 0);
}

} // namespace
} // namespace ordo
