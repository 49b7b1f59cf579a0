// SPDX-License-Identifier: MIT
#include "core/tensor.h"

#include <algorithm>
#include <cstdint>
#include <gtest/gtest.h>

namespace ordo {
namespace {

TEST(Memory, WhatIsAtLeastHalfAHugePageCanLieOnHugePages) {
    const std::size_t before = mapped_bytes();
    for (const std::size_t bytes :
         {huge_page / 2, huge_page - 4096, huge_page, 2 * huge_page + 1, 3 * huge_page - 4096}) {
        auto* const memory = static_cast<unsigned char*>(map_zeros(bytes));
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % huge_page, 0u) << bytes;
        EXPECT_TRUE(std::all_of(memory, memory + bytes, [](unsigned char byte) { return byte == 0; })) << bytes;
        EXPECT_EQ(mapped_bytes(), before + bytes);
        std::fill_n(memory, bytes, static_cast<unsigned char>(1)); // all of it can be written
        unmap(memory, bytes);
    }
    EXPECT_EQ(mapped_bytes(), before);
}

TEST(Memory, OfOneBufferIsThatOfTheNextOfItsSize) {
    const auto of = [](std::size_t bytes, Contents contents) {
        Buffer<unsigned char> buffer(bytes, contents);
        const unsigned char first = buffer[0];
        buffer[0] = 7;
        return std::pair(buffer.data(), first);
    };
    for (const std::size_t size : {3 * huge_page + (5 << 16), huge_page / 2 - (3 << 12)}) { // nothing else has them
        if (size < least_mapped) continue;
        const std::size_t before = mapped_bytes();
        unsigned char* const kept = of(size, Contents::any).first;
        EXPECT_EQ(of(size, Contents::zeros).second, 0);
        EXPECT_NE(of(2 * size, Contents::any).first, kept);
        const auto again = of(size, Contents::any);
        EXPECT_EQ(again.first, kept);
        // 0: the system needed the page, which it takes only from large pieces
        EXPECT_TRUE(again.second == (any_is_nan ? 255 : 7) || (again.second == 0 && size > huge_page));
        EXPECT_EQ(mapped_bytes(), before);
        for (std::size_t i = 0; i < 20; ++i) of(size + (i << 16), Contents::any); // only some are kept
        EXPECT_EQ(mapped_bytes(), before);
    }
}

TEST(Memory, IsCountedInThePlaceOfTaken) {
    const std::size_t before = mapped_bytes();
    const MemoryCount outer;
    const std::uint64_t inner = count_bytes([] { return std::pair(Tensor(3, 5), Buffer<char>(std::size_t{1} << 40)); });
    EXPECT_EQ(inner, 3u * 5 * sizeof(float) + (std::uint64_t{1} << 40)); // a terabyte
    EXPECT_EQ(outer.bytes(), 0u);
    const Tensor outside(2, 2);
    EXPECT_EQ(outer.bytes(), 4 * sizeof(float));
    EXPECT_EQ(mapped_bytes(), before);
}

TEST(Memory, IsTakenAgainWhereNobodyCounts) {
    count_bytes([] { return Tensor(3, 5); });
    Tensor tensor(3, 5);
    tensor.data()[14] = 1; // the memory exists
    EXPECT_EQ(tensor.view().row(2)[4], 1);
}

} // namespace
} // namespace ordo
