// SPDX-License-Identifier: MIT
// Averbuch and Pai 2026 (Tilde Research), as in flash-linear-attention's naive_wall_attn: the score is scale sum_c q_c
// k_c exp(P_i,c - P_j,c), where P is the running sum of g = ln sigmoid(W x + b), for each query head and column. Added
// as the difference from scale q.k, so that biases remain. If a query sees later keys, the gates between the two act in
// the same way.
#include "tests/oracle.h"

#include <cmath>

namespace ordo::reference {
namespace {

class Wall final : public Oracle {
public:
    explicit Wall(const Setting& setting) : setting_(setting) {}
    Vector observe(const Vector& x, const Place&, int layer, const Vector& before) const override {
        const Matrix &weight = setting_.of_layer(layer, "weight"), &bias = setting_.of_layer(layer, "bias");
        Vector sums;
        for (int c = 0; c < weight.rows; ++c) {
            const double z = dot(x, weight, c) + bias.at(0, c);
            const double ln_sigmoid = z < 0 ? z - std::log1p(std::exp(z)) : -std::log1p(std::exp(-z));
            sums.push_back((before.empty() ? 0 : before[static_cast<std::size_t>(c)]) + ln_sigmoid);
        }
        return sums;
    }
    void rescore_row(Vector& row, const ScoreRow& at) const override {
        const std::size_t e = at.query.x.size(), first = static_cast<std::size_t>(at.of.head) * e;
        for (std::size_t j = 0; j < row.size(); ++j)
            for (std::size_t c = 0; c < e; ++c) {
                const double difference = at.query.state[first + c] - at.keys[j].state[first + c];
                row[j] += at.of.scale * at.query.x[c] * at.keys[j].x[c] * (std::exp(-std::abs(difference)) - 1);
            }
    }

private:
    Setting setting_;
};

const Registration wall("wall", [](const Item&, const Setting& setting) -> std::unique_ptr<Oracle> {
    return std::make_unique<Wall>(setting);
});

} // namespace
} // namespace ordo::reference
