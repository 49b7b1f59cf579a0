// SPDX-License-Identifier: MIT
// A throw-away encoding that trains a bias in each layer: score(i, j) -= a_h ln(1 + |i - j|).
#include "encoding/base/distance_bias.h"

#include <cmath>

namespace ordo {

const EncodingInfo throwaway_bias_encoding = {.name = "throwaway-bias",
                                              .summary = "a penalty that grows with the logarithm of the distance",
                                              .paper = "none",
                                              .formula = "score(i, j) -= a_h ln(1 + |i - j|)",
                                              .make = throwaway_bias_file::make};

namespace throwaway_bias_file {

class ThrowawayBias final : public DistanceBias {
public:
    using DistanceBias::DistanceBias;
    std::vector<TensorSpec> tensors() const override { return {per_head("slopes", InitialValues::uniform(0.5f, 1))}; }

    double value(int slot, int head, std::int64_t distance) const override {
        return -static_cast<double>(at(slot, 0, head)) * shape(distance);
    }
    void value_backward(int, int, std::int64_t distance, double d, std::span<double> sums) const override {
        sums[0] -= d * shape(distance);
    }

private:
    static double shape(std::int64_t distance) { return std::log1p(static_cast<double>(std::abs(distance))); }
};

std::unique_ptr<RegisteredEncoding> make(const Dims& dims) {
    return make_registered<ThrowawayBias>(dims);
}

} // namespace throwaway_bias_file
} // namespace ordo
