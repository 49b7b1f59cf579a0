// SPDX-License-Identifier: MIT
// Yang et al. 2025 (arXiv 2505.16381): the score is scale q_i^T H_i H_(i-1) .. H_(j+1) k_j with H_t = I - beta_t w_t
// w_t^T. beta = 2 sigmoid(gate . x + bias). w is the normalised SiLU of a causal convolution of a product of two
// low-rank matrices with x, for each key/value head. As in flash-linear-attention's layer, 1e-6 is added to the square
// of the norm. Added as the difference from scale q.k, so that biases remain. Under a bidirectional mask the
// reflections of a later key and of the tokens before it act: q_i^T H_(i+1) .. H_j k_j.
#include "tests/oracle.h"

#include <cmath>

namespace ordo::reference {
namespace {

class Path final : public Oracle {
public:
    Path(const Item& item, const Setting& setting)
        : setting_(setting), kernel_(item.integer("kernel")), e_(setting.dims.d_head),
          groups_(setting.dims.n_kv_heads != 0 ? setting.dims.n_kv_heads : setting.dims.n_heads) {}
    // w and beta of each key/value head, then the inputs of the convolution, the oldest first.
    Vector observe(const Vector& x, const Place&, int layer, const Vector& before) const override {
        const auto of = [&](const char* name) -> const Matrix& { return setting_.of_layer(layer, name); };
        const int width = groups_ * e_;
        Vector low, state;
        for (int i = 0; i < of("down").rows; ++i) low.push_back(dot(x, of("down"), i));
        std::vector<Vector> inputs; // [kernel], zeros before the sequence
        for (int m = 1; m < kernel_; ++m)
            inputs.push_back(before.empty() ? Vector(static_cast<std::size_t>(width)) : input(before, m));
        inputs.emplace_back();
        for (int c = 0; c < width; ++c) inputs.back().push_back(dot(low, of("up"), c));
        for (int g = 0; g < groups_; ++g) {
            Vector w;
            double square = 0;
            for (int c = g * e_; c < (g + 1) * e_; ++c) {
                double y = 0;
                for (int m = 0; m < kernel_; ++m) y += of("convolution").at(c, m) * inputs[m][c];
                w.push_back(y / (1 + std::exp(-y)));
                square += w.back() * w.back();
            }
            for (const double value : w) state.push_back(value / std::sqrt(square + 1e-6));
        }
        for (int g = 0; g < groups_; ++g)
            state.push_back(2 / (1 + std::exp(-(dot(x, of("gate"), g) + of("gate_bias").at(0, g)))));
        for (const Vector& row : inputs) state.insert(state.end(), row.begin(), row.end());
        return state;
    }
    void rescore_row(Vector& row, const ScoreRow& at) const override {
        const int head = at.of.head / (setting_.dims.n_heads / groups_);
        const auto walk = [&](int step) { // away from the query's own token, to earlier or to later keys
            Vector product = at.query.x;  // q^T H ..
            const auto reflect = [&](std::size_t t) {
                const Vector& state = at.keys[t].state;
                const Vector w(state.begin() + head * e_, state.begin() + (head + 1) * e_);
                const double along = state[groups_ * e_ + head] * dot(product, w);
                for (std::size_t c = 0; c < w.size(); ++c) product[c] -= along * w[c];
            };
            for (auto j = at.own + static_cast<std::size_t>(step); j < row.size();
                 j += static_cast<std::size_t>(step)) {
                reflect(step < 0 ? j + 1 : j);
                row[j] += at.of.scale * (dot(product, at.keys[j].x) - dot(at.query.x, at.keys[j].x));
            }
        };
        walk(-1);
        walk(1);
    }

private:
    // Of the previous token's inputs, the m-th, the oldest being 0.
    Vector input(const Vector& before, int m) const {
        const int width = groups_ * e_, first = width + groups_ + m * width;
        return {before.begin() + first, before.begin() + first + width};
    }

    Setting setting_;
    int kernel_, e_, groups_;
};

const Registration path("path", [](const Item& item, const Setting& setting) -> std::unique_ptr<Oracle> {
    return std::make_unique<Path>(item, setting);
});

} // namespace
} // namespace ordo::reference
