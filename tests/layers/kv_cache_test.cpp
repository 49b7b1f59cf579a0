// SPDX-License-Identifier: MIT
#include "core/random.h"
#include "layers/kv_cache.h"

#include <array>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace ordo {
namespace {

struct CacheCase {
    CacheType type;
    int d_head;
};
class KvCaches : public testing::TestWithParam<CacheCase> {
protected:
    static constexpr int layers = 2, heads = 3, capacity = 130;
    int e = GetParam().d_head;
    KvCacheShape shape{layers, heads, e, capacity, GetParam().type};
    KvCache cache{shape};
    std::vector<std::byte> memory = std::vector<std::byte>(CacheFormat::query_bytes(2, e));

    // A whole number that identifies its place. Every block of 32 contains a 127, so that a scale of 1 suffices for
    // all.
    float value(int layer, int slot, int column, int kind) const {
        if (column % e % 32 == 0) return 127;
        return static_cast<float>((slot * 37 + column * 11 + layer * 83 + kind * 59) % 255 - 127);
    }
    void fill() {
        for (int layer = 0; layer < layers; ++layer)
            for (int first = 0; first < capacity; first += 13) {
                const int n = std::min(13, capacity - first);
                Tensor k(n, heads * e), v(n, heads * e);
                for (int i = 0; i < n; ++i)
                    for (int c = 0; c < heads * e; ++c) {
                        k.view().row(i)[c] = value(layer, first + i, c, 0);
                        v.view().row(i)[c] = value(layer, first + i, c, 1);
                    }
                // Storing some heads of some rows at a time equals storing all at once.
                cache.store(layer, 0, first, cols_of(k.view(), 0, e), cols_of(v.view(), 0, e));
                cache.store(layer, 1, first, cols_of(k.view(), e, 2 * e), cols_of(v.view(), e, 2 * e));
            }
    }
};

// The products return the stored values: with a unit vector as the query, the scores are a column of the keys. With a
// single weight, the sum is a row of values.
TEST_P(KvCaches, KeysAndValuesLieWhereTheirSlotSays) {
    EXPECT_EQ(cache.capacity(), capacity);
    const int bytes_of_row = GetParam().type == CacheType::f32 ? 4 * e
                             : GetParam().type == CacheType::f16
                                 ? 2 * e
                                 : (GetParam().type == CacheType::bf16 ? 64 : 34) * ((e + 31) / 32);
    EXPECT_EQ(KvCache::bytes(shape), // three slabs of 64
              2u * layers * heads * 192 * static_cast<unsigned>(bytes_of_row) + 4 * capacity);
    fill();
    for (int layer = 0; layer < layers; ++layer)
        for (int head = 0; head < heads; ++head)
            for (int j = 0; j < e; ++j)
                for (const int first : {0, 64, 128}) {
                    const int width = first == 0 ? capacity : std::min(64, capacity - first);
                    Tensor q(2, e), scores(2, width), weights(2, width), out(2, e);
                    q.view().row(1)[j] = 1;
                    cache.multiply_keys(layer, head, first, 0.5f, q.view(), memory.data(), scores.view());
                    for (int i = 0; i < width; ++i) {
                        EXPECT_EQ(scores.view().row(0)[i], 0);
                        EXPECT_FLOAT_EQ(scores.view().row(1)[i], 0.5f * value(layer, first + i, head * e + j, 0));
                    }
                    const int chosen = (j * 17 + head) % width;
                    weights.view().row(1)[chosen] = 2;
                    cache.multiply_values(layer, head, first, weights.view(), out.view());
                    for (int c = 0; c < e; ++c) {
                        EXPECT_EQ(out.view().row(0)[c], 0);
                        EXPECT_EQ(out.view().row(1)[c], 2 * value(layer, first + chosen, head * e + c, 1));
                    }
                }
}

TEST_P(KvCaches, KeysAndValuesAreReadBackAsFloats) {
    fill();
    Tensor k(100, e), v(100, e);
    for (int head = 0; head < heads; ++head) {
        cache.keys(1, head, 20, k.view());
        cache.values(1, head, 20, v.view());
        for (int i = 0; i < 100; ++i)
            for (int c = 0; c < e; ++c) {
                EXPECT_EQ(k.view().row(i)[c], value(1, 20 + i, head * e + c, 0));
                EXPECT_EQ(v.view().row(i)[c], value(1, 20 + i, head * e + c, 1));
            }
    }
}

// evict() reads rows and stores them elsewhere. Values that were rounded once are not rounded again. In a q8_0 block of
// 32, values are within half a step of 1/127 of the largest, and the scale is within 2^-11 of its exact value.
TEST_P(KvCaches, RoundOnceAndByNoMoreThanTheirType) {
    const Random random(3, 1);
    Tensor k(48, heads * e), v(48, heads * e), once(48, e), twice(48, e);
    for (std::size_t i = 0; i < k.size(); ++i) {
        k.data()[i] = static_cast<float>(random.normal(2 * i) * std::exp2(static_cast<double>(i % 7) - 3));
        v.data()[i] = static_cast<float>(random.normal(2 * i + 1));
    }
    cache.store(0, 0, 3, k.view(), v.view());
    const double relative = GetParam().type == CacheType::f32    ? 0
                            : GetParam().type == CacheType::bf16 ? 0x1p-8
                                                                 : 0x1p-11;
    for (const bool keys : {true, false}) {
        Tensor& given = keys ? k : v;
        const auto read = [&](int first, View out) {
            keys ? cache.keys(0, 1, first, out) : cache.values(0, 1, first, out);
        };
        read(3, once.view());
        for (int i = 0; i < 48; ++i)
            for (int c = 0; c < e; ++c) {
                const float* const row = given.view().row(i) + e;
                double step = 0;
                if (GetParam().type == CacheType::q8_0)
                    for (int j = c / 32 * 32; j < std::min(e, c / 32 * 32 + 32); ++j)
                        step = std::max(step, std::abs(double{row[j]}) / 127);
                EXPECT_NEAR(once.view().row(i)[c], row[c], 0.5001 * step + relative * std::abs(row[c]))
                    << i << ' ' << c;
            }
        cache.store(0, 1, 70, once.view(), once.view());
        read(70, twice.view());
        EXPECT_EQ(std::memcmp(once.data(), twice.data(), once.size() * sizeof(float)), 0);
    }
}

// When a text outgrows the runs of the heads, they move apart.
TEST_P(KvCaches, GrowWithoutChangingWhatTheyHold) {
    KvCacheShape growing = shape;
    growing.capacity = 1000;
    growing.grows = true;
    growing.state_floats = {2, 3};
    for (const int step : {1, 50, 200}) {
        KvCache small(growing);
        Tensor k(1, heads * e), v(1, heads * e), out(1, e);
        for (int slot = 0; slot < 1000; ++slot) {
            if (slot % step == 0) small.reserve(std::min(1000, slot + step));
            for (int layer = 0; layer < layers; ++layer) {
                for (int c = 0; c < heads * e; ++c) {
                    k.data()[c] = value(layer, slot, c, 0);
                    v.data()[c] = value(layer, slot, c, 1);
                }
                small.store(layer, 0, slot, k.view(), v.view());
                for (int i = 0; i < 2 + layer; ++i)
                    small.state(layer, slot, 1).row(0)[i] = static_cast<float>(slot + i);
            }
            if (slot % 111 != 0 && slot != 999) continue;
            for (int layer = 0; layer < layers; ++layer)
                for (int head = 0; head < heads; ++head)
                    for (const int at : {0, slot / 2, slot}) {
                        small.keys(layer, head, at, out.view());
                        for (int c = 0; c < e; ++c) ASSERT_EQ(out.data()[c], value(layer, at, head * e + c, 0));
                        small.values(layer, head, at, out.view());
                        for (int c = 0; c < e; ++c) ASSERT_EQ(out.data()[c], value(layer, at, head * e + c, 1));
                        ASSERT_EQ(small.state(layer, at, 1).row(0)[1], static_cast<float>(at + 1));
                    }
        }
    }
}

// A value that is not finite stays so, whatever its neighbours are.
TEST_P(KvCaches, WhatIsNotFiniteStaysSo) {
    Tensor k(1, heads * e), v(1, heads * e), q(1, e), scores(1, 1), weights(1, 1), out(1, e);
    k.data()[e + 2] = std::numeric_limits<float>::infinity();
    v.data()[e + 2] = std::numeric_limits<float>::quiet_NaN();
    cache.store(0, 0, 0, k.view(), v.view());
    std::fill_n(q.data(), q.size(), 1.0f);
    weights.data()[0] = 1;
    cache.multiply_keys(0, 1, 0, 1, q.view(), memory.data(), scores.view());
    cache.multiply_values(0, 1, 0, weights.view(), out.view());
    EXPECT_FALSE(std::isfinite(scores.data()[0]));
    EXPECT_FALSE(std::isfinite(out.data()[2]));
}

// The next cache of this shape gets memory that is full of NaNs. A small one does not: its memory is not kept.
void spoil(const KvCacheShape& s) {
    const std::size_t slots = static_cast<std::size_t>((s.capacity + 63) / 64 * 64 * s.n_layers * s.n_kv_heads),
                      bytes = slots * cache_format(s.type).token_bytes(s.d_head);
    Buffer<std::byte> keys(bytes, Contents::any), values(bytes, Contents::any);
    for (Buffer<std::byte>* const piece : {&keys, &values}) std::fill(piece->begin(), piece->end(), std::byte{0xff});
}

// Tokens before the floor have a weight of 0, and products still read those in its slab.
TEST_P(KvCaches, HoldNoUnwrittenTokenBeforeTheFloor) {
    KvCacheShape sliding = shape;
    sliding.capacity = 6000;
    sliding.grows = true;
    sliding.windows = {100, 0};
    sliding.chunk = 50;
    Tensor k(50, heads * e), v(50, heads * e), keys(64, heads * e), values(64, heads * e), out(1, e);
    std::fill_n(v.data(), v.size(), std::numeric_limits<float>::quiet_NaN());
    { // leaves its memory, full of NaNs, to the next cache of its shape
        KvCache wild(sliding);
        for (int slot = 0; slot < sliding.capacity; slot += 50) {
            wild.make_room(slot, 50);
            for (int layer = 0; layer < layers; ++layer) wild.store(layer, 0, slot, v.view(), v.view());
        }
    }
    KvCache small(sliding);
    std::fill_n(v.data(), v.size(), 1.0f);
    int size = 0;
    for (; size < 1000; size += 50) {
        small.make_room(size, 50);
        for (int layer = 0; layer < layers; ++layer) small.store(layer, 0, size, k.view(), v.view());
    }
    small.evict(0, 10, 900, size, keys.view(), values.view(), [](View, int) {});
    size -= 900;
    const int floor = small.floor(0), first = floor / CacheFormat::slab * CacheFormat::slab;
    ASSERT_GT(floor, first);
    Tensor weights(1, size - first);
    for (int i = floor; i < size; ++i) weights.data()[i - first] = 0.25f;
    for (int head = 0; head < heads; ++head) {
        small.multiply_values(0, head, first, weights.view(), out.view());
        for (int c = 0; c < e; ++c) EXPECT_NEAR(out.data()[c], 0.25 * (size - floor), 0.01); // q8_0 rounds
    }
}

// Slots after the last token, and padding, may hold anything. Each row has the same bits in a batch and alone.
TEST_P(KvCaches, WhatWasStoredBeforeDoesNotCount) {
    const Random random(4, 1);
    constexpr int rows = 3;
    Tensor k(capacity, heads * e), v(capacity, heads * e), wild(capacity, heads * e), q(rows, e);
    for (std::size_t i = 0; i < k.size(); ++i) {
        k.data()[i] = static_cast<float>(random.normal(2 * i));
        v.data()[i] = static_cast<float>(random.normal(2 * i + 1));
    }
    for (std::size_t i = 0; i < q.size(); ++i) q.data()[i] = k.data()[7 * i];
    std::fill_n(wild.data(), wild.size(), std::numeric_limits<float>::quiet_NaN());
    cache.store(0, 0, 0, wild.view(), wild.view());
    memory.resize(CacheFormat::query_bytes(rows, e));
    KvCacheShape large = shape;
    large.capacity = 6000;
    for (const int m : {1, 63, 64, 65, 99}) {
        spoil(large);
        KvCache fresh(shape), spoiled(large);
        Tensor weights(rows, m);
        for (std::size_t i = 0; i < weights.size(); ++i) weights.data()[i] = std::abs(k.data()[3 * i]);
        std::vector<std::vector<float>> found;
        for (KvCache* each : {&cache, &fresh, &spoiled}) {
            each->store(0, 0, 0, rows_of(k.view(), 0, m), rows_of(v.view(), 0, m));
            for (const int at_once : {rows, 1}) {
                Tensor scores(rows, m), out(rows, e);
                for (int r = 0; r < rows; r += at_once) {
                    each->multiply_keys(0, 2, 0, 0.3f, rows_of(q.view(), r, at_once), memory.data(),
                                        rows_of(scores.view(), r, at_once));
                    each->multiply_values(0, 2, 0, rows_of(weights.view(), r, at_once),
                                          rows_of(out.view(), r, at_once));
                }
                found.emplace_back(scores.data(), scores.data() + scores.size());
                found.back().insert(found.back().end(), out.data(), out.data() + out.size());
            }
        }
        EXPECT_TRUE(std::isfinite(found[0][0]));
        for (const std::vector<float>& other : found) EXPECT_EQ(other, found[0]) << m;
    }
}

INSTANTIATE_TEST_SUITE_P(Types, KvCaches,
                         testing::Values(CacheCase{CacheType::f32, 5}, CacheCase{CacheType::f16, 5},
                                         CacheCase{CacheType::f16, 64}, CacheCase{CacheType::bf16, 5},
                                         CacheCase{CacheType::bf16, 48}, CacheCase{CacheType::bf16, 64},
                                         CacheCase{CacheType::q8_0, 5}, CacheCase{CacheType::q8_0, 32},
                                         CacheCase{CacheType::q8_0, 48}, CacheCase{CacheType::q8_0, 64}),
                         [](const auto& test) {
                             return std::string(name_of(test.param.type)) + "_" + std::to_string(test.param.d_head);
                         });

TEST(CacheTypes, HaveNames) {
    for (const CacheType type : {CacheType::f32, CacheType::f16, CacheType::bf16, CacheType::q8_0})
        EXPECT_EQ(cache_type(name_of(type)), type);
    EXPECT_THROW(cache_type("q4_0"), Error);
}

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
    place(2, 0); // the sequence was truncated there and continues with another position
    place(3, 1);
    EXPECT_TRUE(known(0, 2));
    EXPECT_FALSE(known(0, 4));
    place(0, 9); // started again
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
