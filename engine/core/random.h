// SPDX-License-Identifier: MIT
// Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror and Shaw, "Parallel random
// numbers: as easy as 1, 2, 3" (SC 2011). There is no state: the numbers are a function of (key,
// counter), the same on every machine and in any order.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>

namespace ordo {

inline std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
    std::uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3], k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t a = std::uint64_t{0xD2511F53} * c0, b = std::uint64_t{0xCD9E8D57} * c2;
        c0 = static_cast<std::uint32_t>(b >> 32) ^ c1 ^ k0;
        c1 = static_cast<std::uint32_t>(b);
        c2 = static_cast<std::uint32_t>(a >> 32) ^ c3 ^ k1;
        c3 = static_cast<std::uint32_t>(a);
        k0 += 0x9E3779B9; // the golden ratio
        k1 += 0xBB67AE85; // sqrt(3) - 1
    }
    return {c0, c1, c2, c3};
}

// Random numbers of one seed and one stream, by index. A stream is a use of random numbers, such as sampling.
class Random {
public:
    Random(std::uint64_t seed, std::uint64_t stream) : seed_(seed), stream_(stream) {}

    std::array<std::uint32_t, 4> four(std::uint64_t index) const {
        return philox4x32({static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
                           static_cast<std::uint32_t>(stream_), static_cast<std::uint32_t>(stream_ >> 32)},
                          {static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32)});
    }
    std::uint64_t bits(std::uint64_t index) const {
        const auto b = four(index);
        return std::uint64_t{b[0]} | std::uint64_t{b[1]} << 32;
    }
    // In [0, 1), a multiple of 2^-53.
    double uniform(std::uint64_t index) const { return static_cast<double>(bits(index) >> 11) * 0x1p-53; }
    // In [0, n), n > 0, by multiplication (the bias is below n / 2^64).
    std::uint64_t below(std::uint64_t index, std::uint64_t n) const {
        __extension__ using Wide = unsigned __int128;
        return static_cast<std::uint64_t>(Wide{bits(index)} * n >> 64);
    }
    // Standard normal (Box and Muller).
    double normal(std::uint64_t index) const {
        const auto b = four(index);
        const double u = (static_cast<double>(std::uint64_t{b[0]} | std::uint64_t{b[1]} << 32) + 1) * 0x1p-64;
        const double v = static_cast<double>(std::uint64_t{b[2]} | std::uint64_t{b[3]} << 32) * 0x1p-64;
        return std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586476925 * v);
    }

private:
    std::uint64_t seed_, stream_;
};

// Fisher and Yates, from the end: element i is swapped with one of 0 .. i, chosen by number first + i.
template <class T>
void shuffle(std::span<T> x, const Random& random, std::uint64_t first = 0) {
    for (std::size_t i = x.size(); i-- > 1;) std::swap(x[i], x[random.below(first + i, i + 1)]);
}

// The same from the front: element i is swapped with the draw(i, n - i)-th of elements i .. n - 1. After either, an
// element that has been drawn stays in its place.
template <class T, class Draw>
void shuffle_forward(std::span<T> x, const Draw& draw) {
    for (std::size_t i = 0; i + 1 < x.size(); ++i)
        std::swap(x[i], x[i + static_cast<std::size_t>(draw(i, x.size() - i))]);
}

} // namespace ordo
