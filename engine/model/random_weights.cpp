// SPDX-License-Identifier: MIT
#include "model/random_weights.h"

#include "core/parallel.h"
#include "io/half.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ordo {

// Four numbers at once, as Philox makes them.
void fill_uniform(std::span<float> out, const Random& random, double mean, double deviation) {
    const double width = deviation * std::sqrt(12.0);
    const auto fours = static_cast<std::ptrdiff_t>((out.size() + 3) / 4);
    parallel_for(fours, 4096, [&](std::ptrdiff_t b) {
        const auto bits = random.four(static_cast<std::uint64_t>(b));
        for (std::size_t i = 0; i < 4; ++i) {
            const std::size_t at = static_cast<std::size_t>(b) * 4 + i;
            if (at < out.size()) out[at] = static_cast<float>(mean + width * (bits[i] * 0x1p-32 - 0.5));
        }
    });
}

void fill_blocks(std::span<std::byte> out, WeightType type, const Random& random, double deviation) {
    struct Shape {
        int at;            // the byte that d is at
        double size, mean; // deviation of a weight over d; mean of l, which dmin / d cancels
    };
    const Shape shape = type == WeightType::q5_0   ? Shape{0, 9.233, 0}
                        : type == WeightType::q4_K ? Shape{0, 258.3, 7.5}
                        : type == WeightType::q5_K ? Shape{0, 526.9, 15.5}
                                                   : Shape{208, 1365.7, 0};
    const std::uint16_t d = f16_from_float(static_cast<float>(deviation / shape.size));
    const std::uint16_t dmin = f16_from_float(static_cast<float>(deviation / shape.size * shape.mean));
    const std::size_t stride = row_bytes(type, block_size(type));
    parallel_for(static_cast<std::ptrdiff_t>(out.size() / stride), 64, [&](std::ptrdiff_t b) {
        std::byte* const block = out.data() + static_cast<std::size_t>(b) * stride;
        for (std::size_t i = 0; i < stride; i += 16) {
            const auto bits = random.four((static_cast<std::uint64_t>(b) << 8) + i);
            std::memcpy(block + i, bits.data(), std::min<std::size_t>(16, stride - i));
        }
        std::memcpy(block + shape.at, &d, 2);
        if (shape.mean != 0) std::memcpy(block + 2, &dmin, 2);
    });
}

} // namespace ordo
