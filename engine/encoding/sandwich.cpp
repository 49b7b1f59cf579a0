// SPDX-License-Identifier: MIT
// Sandwich: the scalar product of two sinusoidal positions, which falls with their distance, as a bias; nothing is trained.
//   score(i, j) += (sum_{k=1..width/2} cos(D w_k) - width/2) / c_h,  w_k = 10000^(-2k/width),  D = |p_i - p_j|
//   c_h = scale (h + 1) / n_heads, h = 0 .. n_heads - 1
// The constant makes it 0 at D = 0, and changes no softmax. Chi et al. 2023, arXiv 2212.10356; NeMo's code.
#include "core/error.h"
#include "encoding/base/distance_bias.h"

#include <algorithm>
#include <cmath>

namespace ordo {
namespace {

constexpr int most_wide = 1 << 15;             // more than any model has
constexpr int most_prepared = 1 << 20;         // distances
constexpr int most_prepared_cosines = 1 << 27; // that these take

class Sandwich final : public DistanceBias {
public:
    explicit Sandwich(const Dims& dims) : DistanceBias(dims), width_(std::clamp(dims.d_model / 2 * 2, 2, most_wide)) {}

    void parameters(Params& p) override {
        p.number("scale", scale_, 0.001, 1e6,
                 "what the last head's bias is divided by; that of head h by (h + 1) / n_heads of it");
        p.integer("width", width_, 2, most_wide, "of the sinusoidal positions, even", "d_model");
        if (width_ % 2 != 0) fail(ErrorCode::usage, "sandwich: width: expected an even number, found ", width_);
    }
    void prepare(int n_positions) override {
        const int most = std::min({n_positions, most_prepared, most_prepared_cosines / (width_ / 2)});
        std::vector<double> frequencies;
        for (int k = 1; k <= width_ / 2; ++k) frequencies.push_back(frequency(k));
        for (int d = static_cast<int>(sums_.size()); d < most; ++d)
            sums_.push_back(sum(d, [&](int k) { return frequencies[static_cast<std::size_t>(k - 1)]; }));
        DistanceBias::prepare(most);
    }

    double value(int, int head, std::int64_t distance) const override {
        const auto d = static_cast<std::size_t>(std::abs(distance));
        const auto computed = [&] { return sum(std::abs(distance), [this](int k) { return frequency(k); }); };
        return (d < sums_.size() ? sums_[d] : computed()) / head_scale(head);
    }

    HeadTable head_table() const override { return {"scales", {"scale"}}; }
    void head_row(int, int head, std::span<double> out) const override { out[0] = head_scale(head); }

private:
    double head_scale(int head) const { return scale_ * (head + 1) / heads(); }
    double frequency(int k) const { return std::pow(10000.0, -2.0 * k / width_); }
    template <class Frequency>
    double sum(std::int64_t distance, const Frequency& of) const {
        double total = 0;
        for (int k = 1; k <= width_ / 2; ++k) total += std::cos(static_cast<double>(distance) * of(k)) - 1;
        return total;
    }

    double scale_ = 8;
    int width_;
    std::vector<double> sums_; // of the first distances, the same for all heads
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
