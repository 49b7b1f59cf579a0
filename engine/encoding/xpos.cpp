// SPDX-License-Identifier: MIT
// xPos is RoPE whose queries shrink and keys grow with the position. Their product falls with the distance, and more so
// in pairs that rotate fast: (R_i q) . (R_j k) = q . zeta^((i-j)/scale) R_{j-i} k.
//   pair k of w/2:  (a, b) -> g (a cos t - b sin t, a sin t + b cos t),  t = p theta^(-2k/w)
//   g = zeta_k^(p/scale) of queries, zeta_k^(-p/scale) of keys,  zeta_k = (2k/w + gamma)/(1 + gamma)
// on the first w (width) of the d_head columns of each head [n, n_heads * d_head]. Sun et al. 2022, A
// Length-Extrapolatable Transformer, arXiv 2212.10554, eq. 16 and table 3 (gamma 0.4, scale 512). Some code centres
// positions. Ordo does not, because the centre depends on the length, and so would every cached key. Keys could grow
// past 2^96 at later positions, which are refused, as floats end at 2^128.
#include "encoding/base/rotary.h"

#include <cmath>

namespace ordo {
namespace xpos_file {
namespace {

class Xpos final : public Rotary {
public:
    using Rotary::Rotary;
    void parameters(Params& p) override {
        theta_parameter(p);
        p.number("scale", scale_, 0.001, 1e12, "positions in which pair k falls by zeta_k");
        pair_parameters(p);
        p.number("gamma", gamma_, 0.0001, 1000000, "greater lets the fast pairs fall less");
        p.choice("zeta", zeta_is_one_, {"paper", "one"}, "one: nothing falls, which is rope");
    }
    bool roles_differ() const override { return true; }
    PairTurns turns(Role role) const override {
        PairTurns turns{};
        for (int k = 0; k < width_ / 2; ++k) {
            turns.frequencies.push_back(std::pow(theta_, -2.0 * k / width_));
            const double growth = std::log(zeta(k)) / scale_;
            if (!zeta_is_one_) turns.growth.push_back(role == Role::query ? growth : -growth);
        }
        return turns;
    }
    Limits limits() const override {
        constexpr int most = std::numeric_limits<int>::max();
        if (zeta_is_one_) return {};
        return {.positions =
                    static_cast<int>(std::min<double>(most, 96 * std::log(2.0) * scale_ / -std::log(zeta(0))))};
    }

    std::vector<NamedTable> tables() const override {
        return {angle_table(), frequency_table("zeta", [this](int pair) { return zeta(pair); })};
    }

private:
    double zeta(int pair) const { return zeta_is_one_ ? 1 : (2.0 * pair / width_ + gamma_) / (1 + gamma_); }

    double scale_ = 512, gamma_ = 0.4;
    bool zeta_is_one_ = false;
};

} // namespace
} // namespace xpos_file

const EncodingInfo xpos_encoding = {
    .name = "xpos",
    .summary = "rotates queries and keys like rope, and lets scores fall with the distance",
    .paper = "Sun et al. 2022, arXiv 2212.10554",
    .formula = "(a, b) -> g (a cos t - b sin t, a sin t + b cos t),  t = p * theta^(-2k/width)\n"
               "g = zeta_k^(p/scale) for queries, zeta_k^(-p/scale) for keys\n"
               "zeta_k = (2k/width + gamma)/(1 + gamma)",
    .make = make_registered<xpos_file::Xpos>,
};

} // namespace ordo
