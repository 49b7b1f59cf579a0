// SPDX-License-Identifier: MIT
// Rotations by angles that depend on the tokens, kept with each token for each key/value head and pair k. A pair is
// columns k and k + e/2, as in the authors' code; theta_k = theta^(-2k/e).
//   selective  Movahedi et al. 2026 (arXiv 2511.17388): theta_k times the sum up to this token of a causal convolution
//              of up (down x^). x^ is x with each head's chunk of columns divided by its norm (their l2_norm, 1e-6).
//   carope     Veisi et al. 2025 (arXiv 2507.23083): the sum of f^k with f = 1 / (1 + softplus(w . x)).
//   repo       Li et al. 2026 (arXiv 2512.14391): p theta_k for a position p = out (silu(gate x) * content x), not
//              summed.
#include "tests/oracle.h"

#include <algorithm>
#include <cmath>

namespace ordo::reference {
namespace {

Vector product(const Vector& x, const Matrix& m) {
    Vector y;
    for (int i = 0; i < m.rows; ++i) y.push_back(dot(x, m, i));
    return y;
}

class SelectiveRope final : public Oracle {
public:
    SelectiveRope(const Item& item, const Setting& setting)
        : setting_(setting), kind_(item.word("kind")), theta_(item.number("theta", 10000)),
          kernel_(static_cast<int>(item.number("kernel", 1))), pairs_(setting.dims.d_head / 2),
          groups_(setting.dims.n_kv_heads != 0 ? setting.dims.n_kv_heads : setting.dims.n_heads) {}
    // The angles without their factor theta_k, then the inputs of the convolution, the oldest first.
    Vector observe(const Vector& x, const Place&, int layer, const Vector& before) const override {
        const auto of = [&](const char* name) -> const Matrix& { return setting_.of_layer(layer, name); };
        Vector state(static_cast<std::size_t>(groups_ * pairs_));
        if (kind_ != "repo" && !before.empty()) std::copy_n(before.begin(), state.size(), state.begin());
        if (kind_ == "selective")
            return convolved(state, product(product(normalised(x), of("down")), of("up")), layer, before);
        Vector positions;
        if (kind_ == "repo") {
            Vector gate = product(x, of("gate"));
            const Vector content = product(x, of("content"));
            for (std::size_t i = 0; i < gate.size(); ++i) gate[i] *= content[i] / (1 + std::exp(-gate[i]));
            positions = product(gate, of("out"));
        } else {
            positions = product(x, of("frequency"));
        }
        for (int g = 0; g < groups_; ++g)
            for (int k = 0; k < pairs_; ++k) {
                const double z = positions[g];
                const double f = 1 / (1 + std::max(z, 0.0) + std::log1p(std::exp(-std::abs(z))));
                state[g * pairs_ + k] += kind_ == "repo" ? z : std::pow(f, k);
            }
        return state;
    }
    void rotate_with(Vector& x, const Place&, const Vector& state, Role role, int, int head) const override {
        const int group = role == Role::key ? head : head / (setting_.dims.n_heads / groups_);
        for (int k = 0; k < pairs_; ++k) {
            const double temperature = kind_ == "carope" ? 1 : std::pow(theta_, -2.0 * k / (2 * pairs_));
            const double angle = state[group * pairs_ + k] * temperature;
            const double a = x[k], b = x[k + pairs_];
            x[k] = a * std::cos(angle) - b * std::sin(angle);
            x[k + pairs_] = a * std::sin(angle) + b * std::cos(angle);
        }
    }

private:
    Vector normalised(Vector x) const {
        const std::size_t n = x.size(), heads = static_cast<std::size_t>(setting_.dims.n_heads),
                          chunk = n % heads == 0 ? n / heads : n;
        for (std::size_t first = 0; first < n; first += chunk) {
            double square = 0;
            for (std::size_t j = first; j < first + chunk; ++j) square += x[j] * x[j];
            for (std::size_t j = first; j < first + chunk; ++j) x[j] /= std::sqrt(square + 1e-6);
        }
        return x;
    }
    Vector convolved(Vector state, const Vector& input, int layer, const Vector& before) const {
        const std::size_t width = state.size();
        Vector inputs(width * static_cast<std::size_t>(kernel_)); // zeros before the sequence
        if (!before.empty()) std::copy(before.begin() + std::ptrdiff_t(2 * width), before.end(), inputs.begin());
        std::copy(input.begin(), input.end(), inputs.end() - std::ptrdiff_t(width));
        for (std::size_t c = 0; c < width; ++c)
            for (int m = 0; m < kernel_; ++m)
                state[c] += setting_.of_layer(layer, "convolution").at(static_cast<int>(c), m) * inputs[m * width + c];
        state.insert(state.end(), inputs.begin(), inputs.end());
        return state;
    }

    Setting setting_;
    std::string kind_;
    double theta_;
    int kernel_, pairs_, groups_;
};

const Registration selective_rope("selective-rope",
                                  [](const Item& item, const Setting& setting) -> std::unique_ptr<Oracle> {
                                      return std::make_unique<SelectiveRope>(item, setting);
                                  });

} // namespace
} // namespace ordo::reference
