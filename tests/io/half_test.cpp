// SPDX-License-Identifier: MIT
// Compares both 16-bit formats with their definition, (-1)^s * 1.f * 2^(e - bias), in double arithmetic.
#include "io/half.h"

#include "core/random.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace {

using namespace ordo;

struct Format {
    const char* name;
    int exponent_bits, fraction_bits;
    float (*to_float)(std::uint16_t);
    std::uint16_t (*from_float)(float);

    int bias() const { return (1 << (exponent_bits - 1)) - 1; }
    std::uint32_t infinity() const { return ((1u << exponent_bits) - 1) << fraction_bits; }
    bool is_nan(std::uint32_t half) const { return (half & 0x7fff) > infinity(); }

    double value(std::uint32_t half) const { // not for a NaN
        const double sign = half & 0x8000 ? -1 : 1;
        const std::uint32_t exponent = (half & 0x7fff) >> fraction_bits;
        const std::uint32_t fraction = half & ((1u << fraction_bits) - 1);
        if ((half & 0x7fff) == infinity()) return sign * std::numeric_limits<double>::infinity();
        if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias() - fraction_bits);
        return sign * std::ldexp((1u << fraction_bits) + fraction, static_cast<int>(exponent) - bias() - fraction_bits);
    }
    // x rounded to the nearest multiple of the format's spacing at x, ties to even. Beyond the largest finite number by
    // half a spacing or more, the result is infinity. nearbyint rounds ties to even.
    double rounded(double x) const {
        if (x == 0 || std::isinf(x)) return x;
        const int exponent = std::max(std::ilogb(x), 1 - bias());
        const double result =
            std::ldexp(std::nearbyint(std::ldexp(x, fraction_bits - exponent)), exponent - fraction_bits);
        const double beyond = std::ldexp(1.0, bias() + 1);
        return std::abs(result) >= beyond ? std::copysign(std::numeric_limits<double>::infinity(), x) : result;
    }
};

class Half : public testing::TestWithParam<Format> {
protected:
    void check_rounding(float x) {
        const Format& f = GetParam();
        const std::uint16_t half = f.from_float(x);
        ASSERT_FALSE(f.is_nan(half)) << x;
        ASSERT_EQ(f.value(half), f.rounded(x)) << f.name << " of " << x;
        ASSERT_EQ((half & 0x8000) != 0, std::signbit(x)) << x;
    }
};

TEST_P(Half, EveryValueToFloatIsExact) {
    const Format& f = GetParam();
    for (std::uint32_t half = 0; half < 65'536; ++half) {
        const float x = f.to_float(static_cast<std::uint16_t>(half));
        ASSERT_EQ(std::signbit(x), (half & 0x8000) != 0) << half;
        if (f.is_nan(half))
            ASSERT_TRUE(std::isnan(x)) << half;
        else
            ASSERT_EQ(static_cast<double>(x), f.value(half)) << half;
    }
}

TEST_P(Half, EveryValueComesBack) {
    const Format& f = GetParam();
    for (std::uint32_t half = 0; half < 65'536; ++half)
        ASSERT_EQ(f.from_float(f.to_float(static_cast<std::uint16_t>(half))), half);
}

TEST_P(Half, MidpointsGoToEvenAndTheirNeighboursToTheNearest) {
    const Format& f = GetParam();
    for (std::uint32_t half = 0; half < f.infinity(); ++half) {
        const double next = half + 1 == f.infinity() ? std::ldexp(1.0, f.bias() + 1) : f.value(half + 1);
        const auto middle = static_cast<float>((f.value(half) + next) / 2);
        ASSERT_EQ(f.from_float(middle), half + (half & 1)) << middle;
        ASSERT_EQ(f.from_float(-middle), 0x8000 + half + (half & 1)) << middle;
        ASSERT_EQ(f.from_float(std::nextafter(middle, 0.0f)), half) << middle;
        ASSERT_EQ(f.from_float(std::nextafter(middle, std::numeric_limits<float>::infinity())), half + 1) << middle;
    }
}

TEST_P(Half, RoundsAnyFloatToTheNearest) {
    const Random random(7, 0);
    for (std::uint64_t i = 0; i < 500'000; ++i) {
        const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(random.bits(i)));
        if (!std::isnan(x)) check_rounding(x);
        check_rounding(static_cast<float>(random.normal(i))); // the range of weights
    }
    for (const float x : {std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::min(),
                          std::numeric_limits<float>::max(), std::numeric_limits<float>::infinity(), 0.0f}) {
        check_rounding(x);
        check_rounding(-x);
    }
}

TEST_P(Half, NansStayNans) {
    const Format& f = GetParam();
    for (std::uint32_t payload = 1; payload < 1u << 23; payload = payload * 3 + 1)
        for (const std::uint32_t sign : {0u, 0x80000000u}) {
            const std::uint16_t half = f.from_float(std::bit_cast<float>(sign | 0x7f800000u | payload));
            ASSERT_TRUE(f.is_nan(half)) << payload;
            ASSERT_EQ((half & 0x8000) != 0, sign != 0) << payload;
        }
}

INSTANTIATE_TEST_SUITE_P(Formats, Half,
                         testing::Values(Format{"F16", 5, 10, f16_to_float, f16_from_float},
                                         Format{"BF16", 8, 7, bf16_to_float, bf16_from_float}),
                         [](const auto& format) { return format.param.name; });

} // namespace
