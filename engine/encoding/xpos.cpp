// SPDX-License-Identifier: MIT
#include "encoding/base/rotary.h"

#include <cmath>

namespace ordo {

const EncodingInfo xpos_encoding = {
    .name = "xpos",
    .summary = "rotates queries and keys like rope, and lets scores fall with the distance",
    .paper = "Sun et al. 2022, arXiv 2212.10554",
    .formula = "(a, b) -> g (a cos t - b sin t, a sin t + b cos t),  t = p * theta^(-2k/width)\n"
               "g = zeta_k^(p/scale) for queries, zeta_k^(-p/scale) for keys\n"
               "zeta_k = (2k/width + gamma)/(1 + gamma)",
    .make = xpos_file::make,
};

namespace xpos_file {

// Eq. 16 and table 3 (gamma 0.4, scale 512). Some code centres positions. Ordo does not, because the centre depends on
// the length, and so would every cached key. Keys could grow past 2^96 at later positions, which are refused, as
// floats end at 2^128.
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

std::unique_ptr<RegisteredEncoding> make(const Dims& dims) {
    return make_registered<Xpos>(dims);
}

} // namespace xpos_file
} // namespace ordo
