// SPDX-License-Identifier: MIT
// Lin et al. 2025 (arXiv 2503.02130), equations 6 and 7: f_t = sigmoid(w_h . x_t + b_h), score + sum_{l=j+1}^{i} ln
// f_l. The sum is the difference of two running sums, stored in the tokens' states. If a query also sees later keys,
// the gates between the two act in the same way.
#include "tests/oracle.h"

#include <cmath>

namespace ordo::reference {
namespace {

class Forget final : public Oracle {
public:
    explicit Forget(const Setting& setting) : setting_(setting) {}
    Vector observe(const Vector& x, const Place&, int layer, const Vector& before) const override {
        const Matrix& weight = setting_.of_layer(layer, "gate.weight");
        const Matrix& bias = setting_.of_layer(layer, "gate.bias");
        Vector state;
        for (int h = 0; h < weight.rows; ++h) {
            const double z = dot(x, weight, h) + bias.at(0, h);
            const double ln_sigmoid = z < 0 ? z - std::log1p(std::exp(z)) : -std::log1p(std::exp(-z));
            state.push_back((before.empty() ? 0 : before[h]) + ln_sigmoid);
        }
        return state;
    }
    double bias(const Head& of, const Side& query, const Side& key) const override {
        const auto h = static_cast<std::size_t>(of.head);
        return -std::abs(query.state[h] - key.state[h]);
    }

private:
    Setting setting_;
};

const Registration forget("forget", [](const Item&, const Setting& setting) -> std::unique_ptr<Oracle> {
    return std::make_unique<Forget>(setting);
});

} // namespace
} // namespace ordo::reference
