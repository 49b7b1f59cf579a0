// SPDX-License-Identifier: MIT
// Sandwich: a bias equal to the scalar product of two sinusoidal positions, which falls with their distance.
//   score(i, j) += (sum_{k=1..width/2} cos(D w_k) - width/2) / c_h,  w_k = 10000^(-2k/width),  D = |p_i - p_j|
//   c_h = scale (h + 1) / n_heads, h = 0 .. n_heads - 1
// The constant width/2 makes the bias 0 at D = 0, and does not affect the softmax. Chi et al. 2023, arXiv 2212.10356;
// NeMo's code.
#include "core/error.h"
#include "encoding/base/distance_bias.h"

#include <cmath>

namespace ordo {
namespace {

class Sandwich final : public DistanceBias {
public:
    explicit Sandwich(const Dims& dims) : DistanceBias(dims), width_(std::clamp(dims.d_model / 2 * 2, 2, 1 << 15)) {}

    void parameters(Params& p) override {
        p.number("scale", scale_, 0.001, 1e6,
                 "what the last head's bias is divided by; that of head h by (h + 1) / n_heads of it");
        p.integer("width", width_, 2, 1 << 15, "of the sinusoidal positions, even", "d_model");
        if (width_ % 2 != 0) fail(ErrorCode::usage, "sandwich: width: expected an even number, found ", width_);
    }
    void ready() override {
        for (int k = 1; k <= width_ / 2; ++k) frequencies_.push_back(std::pow(10000.0, -2.0 * k / width_));
        DistanceBias::ready();
    }
    void prepare(int n_positions) override {
        const int most = std::min({n_positions, 1 << 20, (1 << 27) / (width_ / 2)}); // number of distances, and of
                                                                                     // their cosines
        for (int d = static_cast<int>(sums_.size()); d < most; ++d) sums_.push_back(sum(d));
        DistanceBias::prepare(most);
    }
    double value(int, int head, std::int64_t distance) const override {
        const auto d = static_cast<std::size_t>(std::abs(distance));
        return (d < sums_.size() ? sums_[d] : sum(std::abs(distance))) / head_scale(head);
    }
    HeadTable head_table() const override {
        return {"scales", {"scale"}, [this](int, int head) { return std::vector<double>{head_scale(head)}; }};
    }

private:
    double head_scale(int head) const { return scale_ * (head + 1) / heads(); }
    double sum(std::int64_t distance) const {
        double total = 0;
        for (const double w : frequencies_) total += std::cos(static_cast<double>(distance) * w) - 1;
        return total;
    }

    double scale_ = 8;
    int width_;
    std::vector<double> frequencies_, sums_; // sums_: of the first distances, the same for all heads
};

} // namespace

const EncodingInfo sandwich_encoding = {
    .name = "sandwich",
    .summary = "adds the product of two sinusoidal positions, which falls with their distance",
    .paper = "Chi et al. 2023, arXiv 2212.10356",
    .formula = "score(i, j) = q_i . k_j * scale + (sum_{k=1..width/2} cos(D w_k) - width/2) / c_h\n"
               "w_k = 10000^(-2k/width),  D = |p_i - p_j|,  c_h = scale (h + 1) / n_heads",
    .make = make_registered<Sandwich>,
};

} // namespace ordo
