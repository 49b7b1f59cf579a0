// SPDX-License-Identifier: MIT
// Sun et al. 2023 (arXiv 2212.10554), algorithm 1: besides the rotation by n theta_k, queries grow by zeta_k^(n/scale)
// and keys by zeta_k^(-n/scale). So the score contains zeta^((i - j)/scale), with zeta_k = (2k/d + gamma) / (1 + gamma)
// and k = 0 .. d/2 - 1. gamma is 0.4 and scale 512 as in torchscale. Positions are unchanged, while torchscale counts
// them from the middle.
#include "tests/oracle.h"

#include <cmath>
#include <complex>

namespace ordo::reference {
namespace {

class Xpos final : public Oracle {
public:
    explicit Xpos(const Item& item)
        : theta_(item.number("theta")), scale_(item.number("scale")), gamma_(item.number("gamma")),
          width_(static_cast<std::size_t>(item.integer("width"))), halves_(item.is("pairing", "halves")),
          one_(item.is("zeta", "one")) {}
    void rotate(Vector& x, const Place& at, Role role, int, int) const override {
        for (std::size_t k = 0; k < width_ / 2; ++k) {
            const double part = 2.0 * static_cast<double>(k) / static_cast<double>(width_);
            const double zeta = one_ ? 1 : (part + gamma_) / (1 + gamma_);
            const double size = std::pow(zeta, (role == Role::query ? at[0] : -at[0]) / scale_);
            double& real = x[halves_ ? k : 2 * k];
            double& imaginary = x[halves_ ? k + width_ / 2 : 2 * k + 1];
            const auto turned = std::complex(real, imaginary) * std::polar(size, at[0] * std::pow(theta_, -part));
            real = turned.real();
            imaginary = turned.imag();
        }
    }

private:
    double theta_, scale_, gamma_;
    std::size_t width_;
    bool halves_, one_;
};

const Registration xpos("xpos", [](const Item& item, const Setting&) -> std::unique_ptr<Oracle> {
    return std::make_unique<Xpos>(item);
});

} // namespace
} // namespace ordo::reference
