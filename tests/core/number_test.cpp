// SPDX-License-Identifier: MIT
#include "core/number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

namespace ordo {
namespace {

TEST(Number, IsTheShortestTextThatReadsBack) {
    EXPECT_EQ(number_text(0.1), "0.1");
    EXPECT_EQ(number_text(0.1f), "0.1");
    EXPECT_EQ(number_text(0.1 + 0.2), "0.30000000000000004");
    EXPECT_EQ(number_text(1e300), "1e+300");
    EXPECT_EQ(number_text(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
    EXPECT_EQ(number_text(HUGE_VAL), "inf");
}

TEST(Number, HasDigitsOrDecimalsThatAreAskedFor) {
    EXPECT_EQ(rounded_text(2.0 / 3, 3), "0.667");
    EXPECT_EQ(rounded_text(1234567, 6), "1.23457e+06");
    EXPECT_EQ(fixed_text(2.0 / 3, 2), "0.67");
    EXPECT_EQ(fixed_text(1e22, 0), "10000000000000000000000");
    // 2^-1074, the smallest double, has as many decimal places as its exponent.
    EXPECT_EQ(number_text(0x1p-1074, std::chars_format::fixed).size(), 2u + 324u);
    EXPECT_EQ(fixed_text(0x1p-1074, 1074).size(), 2u + 1074u);
}

TEST(Number, JoinsTextsAndNumbers) {
    EXPECT_EQ(joined("a ", 1, ' ', std::string("b "), 2.5, " ", 1.0 / 3), "a 1 b 2.5 0.333333");
    EXPECT_EQ(joined<4>(1.0 / 3), "0.3333");
}

TEST(Number, SizesOfMemoryAreForPeople) {
    EXPECT_EQ(bytes_text(0), "0 bytes");
    EXPECT_EQ(bytes_text((1 << 20) - 1), "1048575 bytes");
    EXPECT_EQ(bytes_text(3 << 19), "1.5 MiB");
    EXPECT_EQ(bytes_text(std::uint64_t{27} << 29), "13.5 GiB");
    EXPECT_EQ(bytes_text(std::numeric_limits<std::uint64_t>::max()), "17179869184.0 GiB");
}

} // namespace
} // namespace ordo
