// SPDX-License-Identifier: MIT
#include "core/memory.h"

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
        std::fill_n(memory, bytes, static_cast<unsigned char>(1)); // all of it is there
        unmap(memory, bytes);
    }
    EXPECT_EQ(mapped_bytes(), before);
}

} // namespace
} // namespace ordo
