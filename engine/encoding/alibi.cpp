// SPDX-License-Identifier: MIT
#include "core/error.h"
#include "encoding/base/distance_bias.h"
#include "kernels/kernels.h"

#include <bit>
#include <cmath>

namespace ordo {

const EncodingInfo alibi_encoding = {
    .name = "alibi",
    .summary = "lowers scores in proportion to the distance, with a slope for each head",
    .paper = "Press et al. 2022, arXiv 2108.12409",
    .formula = "score(i, j) = q_i . k_j * scale - m_h |p_i - p_j|^power\n"
               "penalty=exponential: - m_h (1 - exp(-|p_i - p_j| / length))\n"
               "penalty=growing: - m_h (exp(|p_i - p_j| / length) - 1), at most 1e30 m_h\n"
               "scale = 1/sqrt(d_head), or the model's own; the bias is not multiplied by it\n"
               "m_h = 2^(-max (h+1)/n) for head h of n, a power of two; in between as published",
    .make = alibi_file::make,
};

namespace alibi_file {

// m_h for n heads, no power of two, and p, the power of two below n: the slopes of p heads, followed by every other
// slope of 2p heads, 2^(-max (2(h-p)+1)/(2p)), as in the authors' code. max is MPT's alibi_bias_max. Falcon has a
// scale of 1/sqrt(d_head). D^power is KERPLE's power kernel (Chi et al. 2022, arXiv 2205.09921). Distances are
// integers, so they stay exact at positions past 2^24.
class Alibi final : public DistanceBias {
public:
    using DistanceBias::DistanceBias;
    void parameters(Params& p) override {
        p.number("max", max_, 0, 64, "the smallest slope of all heads is 2^-max");
        p.number("power", power_, 0.01, 2, "the exponent of the distance");
        p.unless(penalty_ == Penalty::power);
        p.choice("penalty", penalty_, {"power", "exponential", "growing"},
                 "power; exponential, which nears the slope; growing, exponentially");
        if (penalty_ != Penalty::power || p.listing())
            p.number("length", length_, 0.01, 1e9,
                     "the scale of penalty=exponential and growing: there they are 0.63 and 1.7 times the slope");
        p.unless(scale_ == 1).number("scale", scale_, 0.0001, 1000000, "the factor of all slopes");
        p.unless(!trained_).flag("trained", trained_, "yes: the slopes are trained, for each layer");
    }
    void ready() override {
        if (penalty_ != Penalty::power && power_ != 1)
            fail(ErrorCode::usage, "alibi: power: expected 1 with penalty=exponential or growing, found ",
                 decimal(power_));
        const int n = heads(), p = static_cast<int>(std::bit_floor(static_cast<unsigned>(n)));
        for (int h = 0; h < n; ++h) slopes_.push_back(scale_ * std::exp2(-max_ * (h < p ? h + 1.0 : h - p + 0.5) / p));
    }
    std::vector<TensorSpec> tensors() const override {
        if (!trained_) return {};
        const auto start = [slopes = slopes_](auto out, auto) { std::copy(slopes.begin(), slopes.end(), out.begin()); };
        return {per_head("slopes", InitialValues::from(start))};
    }

    // f(D): how a score falls with the distance, for a slope of 1.
    double penalty(std::int64_t distance) const {
        const double D = static_cast<double>(std::abs(distance));
        if (penalty_ == Penalty::exponential) return -std::expm1(-D / length_);
        // At most 1e30: infinity times a gradient of 0 is NaN.
        if (penalty_ == Penalty::growing) return std::min(std::expm1(D / length_), 1e30);
        return power_ == 1 ? D : std::pow(D, power_);
    }
    double value(int slot, int head, std::int64_t distance) const override {
        return 0 - slope(slot, head) * penalty(distance);
    }
    float added(int slot, int head, std::int64_t distance) const override {
        return -(static_cast<float>(slope(slot, head)) * static_cast<float>(penalty(distance)));
    }
    void value_backward(int, int, std::int64_t distance, double d, std::span<double> sums) const override {
        sums[0] -= d * penalty(distance);
    }

    // A linear bias needs no table.
    void prepare(int n_positions) override {
        if (!is_line()) DistanceBias::prepare(n_positions);
    }
    void bias(View scores, const Tile& tile) const override {
        if (!is_line() || tile.keys.stride() != 1) return DistanceBias::bias(scores, tile);
        const auto m = static_cast<float>(slope(slot(tile.layer), tile.head));
        for (int i = 0; i < scores.rows; ++i)
            kernels().subtract_distance(scores.cols, m, tile.queries[i], tile.keys.ids().data(), scores.row(i));
    }
    double operations_per_pair(const Work&) const override { return is_line() ? 2 : 1; }
    std::vector<NamedTable> tables() const override {
        const auto slopes = [this](int slot, int head, auto out) { out[1] = slope(slot, head); };
        return {bias_table(), by_head("slopes", {"head", "slope"}, slopes)};
    }

private:
    enum class Penalty { power, exponential, growing };
    bool is_line() const { return penalty_ == Penalty::power && power_ == 1; }
    double slope(int slot, int head) const { return trained_ ? static_cast<double>(at(slot, 0, head)) : slopes_[head]; }

    double max_ = 8, power_ = 1, length_ = 64, scale_ = 1;
    Penalty penalty_ = Penalty::power;
    bool trained_ = false;
    std::vector<double> slopes_; // of each head; the initial values where they are trained
};

std::unique_ptr<RegisteredEncoding> make(const Dims& dims) {
    return make_registered<Alibi>(dims);
}

} // namespace alibi_file
} // namespace ordo
