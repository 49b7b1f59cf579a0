// SPDX-License-Identifier: MIT
// Su et al. 2021 (arXiv 2104.09864), eq. 12: each pair is a complex number, multiplied with e^(i m theta_k), with
// theta_k = 10000^(-2(k-1)/d), k = 1 .. d/2 (eq. 15). The scalings of theta for longer contexts follow. s is the factor
// and L the original length:
//   linear    Chen et al. 2023 (arXiv 2306.15595), eq. 4: positions, and so theta, divided by s.
//   ntk       bloc97, as in YaRN's section 3.1: the base times s^(d/(d-2)).
//   dynamic   emozilla, YaRN's section 3.3 as in Hugging Face: s l/L - (s - 1) replaces s for a length l > L.
//   yarn      Peng et al. 2024 (arXiv 2309.00071), section 3.2, with the code's rounding of the ramp's ends.
//             extrapolation, llama.cpp's ext_factor, multiplies the ramp's weight of the unscaled angles.
//   llama3    Llama 3.1's code: by wavelength.
//   longrope  Ding et al. 2024 (arXiv 2402.13753) as in Phi-3: theta divided by a list, another one above L tokens.
// p-RoPE: Barbero et al. 2025 (arXiv 2410.06205), section 6. Sections: Wang et al. 2024 (arXiv 2409.12191) and,
// interleaved, Qwen3-VL. A pair rotates with the position on its own axis; two axes are a 2-D RoPE.
#include "tests/oracle.h"

#include <algorithm>
#include <cmath>
#include <complex>

namespace ordo::reference {
namespace {

const double pi = std::acos(-1.0);

Vector plain(double base, std::size_t width) {
    Vector theta;
    for (std::size_t k = 1; k <= width / 2; ++k)
        theta.push_back(std::pow(base, -2.0 * (static_cast<double>(k) - 1) / static_cast<double>(width)));
    return theta;
}

// The base times scale^(d/(d-2)). A single pair has no base.
Vector ntk(double base, std::size_t width, double scale) {
    const auto d = static_cast<double>(width);
    return width == 2 ? Vector{1} : plain(base * std::pow(scale, d / (d - 2)), width);
}

Vector yarn(const Item& item, double base, std::size_t width) {
    const auto d = static_cast<double>(width);
    const double s = item.number("factor");
    // The pair with this number of periods in the original context, as a real number.
    const auto pair_of = [&](double rotations) {
        return d * std::log(item.number("original") / (rotations * 2 * pi)) / (2 * std::log(base));
    };
    double low = pair_of(item.number("beta-fast")), high = pair_of(item.number("beta-slow"));
    if (!item.is("truncate", "no")) {
        low = std::floor(low);
        high = std::ceil(high);
    }
    low = std::max(low, 0.0);
    high = std::min(high, d - 1);
    if (low == high) high += 0.001;
    Vector theta = plain(base, width);
    for (std::size_t k = 0; k < theta.size(); ++k) {
        const double ramp = std::clamp((static_cast<double>(k) - low) / (high - low), 0.0, 1.0);
        const double mix = (1 - ramp) * item.number("extrapolation", 1), interpolated = theta[k] / s;
        theta[k] = interpolated * (1 - mix) + theta[k] * mix;
    }
    return theta;
}

Vector llama3(const Item& item, Vector theta) {
    const double s = item.number("factor"), low = item.number("low"), high = item.number("high");
    for (double& t : theta) {
        const double turns = item.number("original") / (2 * pi / t); // in the original context
        if (turns > high) continue;
        const double smooth = std::max((turns - low) / (high - low), 0.0);
        t = turns < low ? t / s : (1 - smooth) * t / s + smooth * t;
    }
    return theta;
}

Vector longrope(const Item& item, Vector theta, int length) {
    const bool longer = item.has("factors") ? item.is("factors", "long") : length > item.number("original");
    const Vector factors = item.list(longer ? "long" : "short");
    for (std::size_t k = 0; k < theta.size(); ++k) theta[k] /= factors.at(k);
    return theta;
}

Vector frequencies(const Item& item, int length) {
    const auto width = static_cast<std::size_t>(item.integer("width"));
    const double base = item.number("theta"), s = item.number("factor", 1);
    Vector theta = plain(base, width);
    if (item.is("scaling", "linear"))
        for (double& t : theta) t /= s;
    if (item.is("scaling", "ntk")) theta = ntk(base, width, s);
    if (item.is("scaling", "dynamic")) {
        const double l = item.number("length", length), original = item.number("original");
        if (l > original) theta = ntk(base, width, s * l / original - (s - 1));
    }
    if (item.is("scaling", "yarn")) theta = yarn(item, base, width);
    if (item.is("scaling", "llama3")) theta = llama3(item, theta);
    if (item.is("scaling", "longrope")) theta = longrope(item, theta, length);
    const double kept = std::floor(item.number("keep", 1) * static_cast<double>(width) / 2);
    for (std::size_t k = static_cast<std::size_t>(kept); k < theta.size(); ++k) theta[k] = 0;
    return theta;
}

class Rope final : public Oracle {
public:
    Rope(const Item& item, const Setting& setting)
        : theta_(frequencies(item, setting.length)), attention_(item.number("attention", 1)),
          halves_(item.is("pairing", "halves")), interleaved_(item.is("interleaved", "yes")) {
        if (item.has("sections")) sections_ = item.list("sections");
    }
    void rotate(Vector& x, const Place& at, Role, int, int) const override {
        for (std::size_t k = 0; k < theta_.size(); ++k) {
            double& real = x[halves_ ? k : 2 * k];
            double& imaginary = x[halves_ ? k + theta_.size() : 2 * k + 1];
            const double angle = on_axis(at, axis_of(k)) * theta_[k];
            const auto turned = std::complex(real, imaginary) * std::polar(attention_, angle);
            real = turned.real();
            imaginary = turned.imag();
        }
    }

private:
    std::size_t axis_of(std::size_t pair) const {
        if (sections_.empty()) return 0;
        const auto k = static_cast<double>(pair);
        if (interleaved_) { // 0 1 2 0 1 2 ..., while axes 1 and 2 have pairs left, then 0 in their place
            const std::size_t axis = pair % sections_.size();
            return k < static_cast<double>(sections_.size()) * sections_[axis] ? axis : 0;
        }
        double end = 0;
        for (std::size_t axis = 0; axis < sections_.size(); ++axis)
            if (k < (end += sections_[axis])) return axis;
        return 0;
    }

    Vector theta_;
    double attention_;
    bool halves_, interleaved_;
    Vector sections_;
};

const Registration rope("rope", [](const Item& item, const Setting& setting) -> std::unique_ptr<Oracle> {
    return std::make_unique<Rope>(item, setting);
});

} // namespace
} // namespace ordo::reference
