// SPDX-License-Identifier: MIT
#include "encoding/base/distance_bias.h"

#include <cmath>

namespace ordo {

const EncodingInfo kerple_encoding = {
    .name = "kerple",
    .summary = "lowers scores by a kernel of the distance that each head learns",
    .paper = "Chi et al. 2022, arXiv 2205.09921",
    .formula = "log:   score(i, j) = q_i . k_j * scale - a ln(1 + b |p_i - p_j|)\n"
               "power: score(i, j) = q_i . k_j * scale - a |p_i - p_j|^b\n"
               "a = max(r1, 0.01), b = max(r2, 0.01), for power at most 2; r1 and r2 of each layer and head",
    .make = kerple_file::make,
};

namespace kerple_file {

constexpr double least = 0.01, most_power = 2;

// The bounds and the initial ranges are those of the authors' code. Outside its bounds a parameter has no gradient, so
// training starts inside.
class Kerple final : public DistanceBias {
public:
    using DistanceBias::DistanceBias;
    void parameters(Params& p) override { p.choice("kernel", power_, {"log", "power"}, "log or power"); }
    std::vector<TensorSpec> tensors() const override {
        const auto within = [](float most) { return InitialValues::uniform(static_cast<float>(least), most); };
        return {per_head("r1", within(power_ ? 1 : 2)), per_head("r2", within(power_ ? 2 : 1))};
    }
    double value(int slot, int head, std::int64_t distance) const override {
        const Kernel k = kernel(slot, head);
        const double D = static_cast<double>(std::abs(distance));
        return 0 - k.a * (power_ ? std::pow(D, k.b) : std::log1p(k.b * D));
    }
    // With respect to a: -ln(1 + b D), or -D^b. With respect to b: -a D / (1 + b D), or -a D^b ln D.
    void value_backward(int slot, int head, std::int64_t distance, double d, std::span<double> sums) const override {
        const Kernel k = kernel(slot, head);
        const double D = static_cast<double>(std::abs(distance)), raised = power_ ? std::pow(D, k.b) : 0;
        if (D == 0) return;
        if (k.a_moves) sums[0] -= d * (power_ ? raised : std::log1p(k.b * D));
        if (k.b_moves) sums[1] -= power_ ? d * k.a * raised * std::log(D) : d * k.a * D / (1 + k.b * D);
    }
    std::vector<NamedTable> tables() const override {
        const auto kernels = [this](int slot, int head, auto out) {
            out[1] = kernel(slot, head).a;
            out[2] = kernel(slot, head).b;
        };
        return {bias_table(), by_head("parameters", {"head", "a", "b"}, kernels)};
    }

private:
    struct Kernel {
        double a, b;
        bool a_moves, b_moves; // inside their bounds
    };
    Kernel kernel(int slot, int head) const {
        const double r1 = static_cast<double>(at(slot, 0, head)), r2 = static_cast<double>(at(slot, 1, head));
        const double most_b = power_ ? most_power : HUGE_VAL;
        return {std::max(r1, least), std::min(std::max(r2, least), most_b), r1 > least, r2 > least && r2 < most_b};
    }

    bool power_ = false; // or log
};

std::unique_ptr<RegisteredEncoding> make(const Dims& dims) {
    return make_registered<Kerple>(dims);
}

} // namespace kerple_file
} // namespace ordo
