// SPDX-License-Identifier: MIT
// Golovneva et al. 2024 (arXiv 2405.18719), equations 3 to 6 and the listing in the appendix: g_ij = sigmoid(score),
// p_ij = sum of g_il from l = j to i, and score + q_i.e[p_ij], interpolated between whole p. The oracle follows the
// listing where the equations say less. The listing takes the gates of scaled scores. Masked scores count as zero, and
// the sum continues to the row's end. The listing also limits p to the last row of e, and does not scale the query.
#include "tests/oracle.h"

#include <algorithm>
#include <cmath>

namespace ordo::reference {
namespace {

class Cope final : public Oracle {
public:
    Cope(const Item& item, const Setting& setting) : setting_(setting), positions_(item.integer("positions")) {}
    void rescore(Vector& row, const Head& of, const Side& query) const override {
        const Matrix& e = setting_.of_layer(of.layer, "weight");
        const Vector scores = row;
        for (std::size_t j = 0; j < row.size(); ++j) {
            double p = 0;
            for (std::size_t l = j; l < row.size(); ++l) p += 1 / (1 + std::exp(-scores[l]));
            p = std::min(p, positions_ - 1.0);
            const double below = std::floor(p), above = std::ceil(p), w = p - below;
            row[j] += w * dot(query.x, e, static_cast<int>(above)) + (1 - w) * dot(query.x, e, static_cast<int>(below));
        }
    }

private:
    Setting setting_;
    int positions_;
};

const Registration cope("cope", [](const Item& item, const Setting& setting) -> std::unique_ptr<Oracle> {
    return std::make_unique<Cope>(item, setting);
});

} // namespace
} // namespace ordo::reference
