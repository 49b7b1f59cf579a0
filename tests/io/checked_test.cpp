// SPDX-License-Identifier: MIT
#include "io/checked.h"

#include <limits>

#include <gtest/gtest.h>

namespace {

using ordo::Checked;

constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();

TEST(CheckedSize, KnowsWhenAResultLeaves64Bits) {
    EXPECT_EQ((Checked(3) * Checked(4) + Checked(5) - Checked(1)).value(), 16u);
    EXPECT_EQ((Checked(most - 1) + Checked(1)).value(), most);
    EXPECT_EQ((Checked(1ull << 32) * Checked((1ull << 32) - 1)).value(), 0xffffffff00000000u);
    EXPECT_FALSE((Checked(most) + Checked(1)).valid());
    EXPECT_FALSE((Checked(1ull << 32) * Checked(1ull << 32)).valid());
    EXPECT_FALSE((Checked(1) - Checked(2)).valid());
    EXPECT_THROW((Checked(1) - Checked(2)).value(), ordo::Error);
}

TEST(CheckedSize, StaysInvalidAndComparesAsNothing) {
    const Checked bad = Checked(most) + Checked(1);
    EXPECT_FALSE((bad * Checked(0)).valid());
    EXPECT_FALSE((Checked(0) * bad).valid());
    EXPECT_FALSE((bad - bad).valid());
    EXPECT_FALSE(bad == bad);
    EXPECT_FALSE(bad <= Checked(most));
    EXPECT_FALSE(Checked(0) <= bad);
    EXPECT_TRUE(Checked(1) <= Checked(1));
    EXPECT_FALSE(Checked(2) <= Checked(1));
}

static_assert(!std::is_convertible_v<std::uint64_t, Checked>, "a plain number must not slip in");

} // namespace
