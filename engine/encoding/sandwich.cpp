// SPDX-License-Identifier: MIT
#include "encoding/base/distance_bias.h"

#include <cmath>

namespace ordo {

const EncodingInfo sandwich_encoding = {
    .name = "sandwich",
    .summary = "adds the product of two sinusoidal positions, which falls with their distance",
    .paper = "Chi et al. 2023, arXiv 2212.10356",
    .formula = "score(i, j) = q_i . k_j * scale + (sum_{k=1..width/2} cos(D w_k) - width/2) / c_h\n"
               "w_k = 10000^(-2k/width),  D = |p_i - p_j|,  c_h = scale (h + 1) / n_heads",
    .make = sandwich_file::make,
};

namespace sandwich_file {

// The constant width/2 makes the bias 0 at D = 0; the softmax ignores it. The width is even, as in NeMo's code.
class Sandwich final : public DistanceBias {
public:
    using DistanceBias::DistanceBias;
    void parameters(Params& p) override {
        p.number("scale", scale_, 0.001, 1e6,
                 "what the last head's bias is divided by; that of head h by (h + 1) / n_heads of it");
        even(p, "width", width_, 1 << 15, "of the sinusoidal positions, even", "d_model");
    }
    void ready() override {
        for (int k = 1; k <= width_ / 2; ++k) frequencies_.push_back(std::pow(10000.0, -2.0 * k / width_));
    }
    void prepare(int n_positions) override {
        const int most = std::min({n_positions, 1 << 20, (1 << 27) / (width_ / 2)}); // limits the cosines too
        for (int d = static_cast<int>(sums_.size()); d < most; ++d) sums_.push_back(sum(d));
        DistanceBias::prepare(most);
    }
    double value(int, int head, std::int64_t D) const override { return sum(std::abs(D)) / head_scale(head); }
    std::vector<NamedTable> tables() const override {
        const auto scales = [this](int, int head, auto out) { out[1] = head_scale(head); };
        return {bias_table(), by_head("scales", {"head", "scale"}, scales)};
    }

private:
    double head_scale(int head) const { return scale_ * (head + 1) / heads(); }
    double sum(std::int64_t distance) const {
        if (distance < std::ssize(sums_)) return sums_[distance];
        double total = 0;
        for (const double w : frequencies_) total += std::cos(static_cast<double>(distance) * w) - 1;
        return total;
    }

    double scale_ = 8;
    int width_ = std::clamp(dims().d_model / 2 * 2, 2, 1 << 15);
    std::vector<double> frequencies_, sums_; // sums_: of the first distances, the same for all heads
};

std::unique_ptr<RegisteredEncoding> make(const Dims& dims) {
    return make_registered<Sandwich>(dims);
}

} // namespace sandwich_file
} // namespace ordo
