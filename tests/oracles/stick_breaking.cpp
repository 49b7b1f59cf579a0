// SPDX-License-Identifier: MIT
// Tan et al. 2024 (arXiv 2410.17980): with b_k = sigmoid(score), the weight of key j is b_j times the product of 1 -
// b_k over the keys after it and before the query's own, which has no weight, as in the authors' code. No key takes the
// rest of the stick, whose logarithm is the logit of a sink. Keys after the query have no weight either.
#include "tests/oracle.h"

#include <algorithm>
#include <cmath>

namespace ordo::reference {
namespace {

double ln_sigmoid(double x) {
    return std::min(x, 0.0) - std::log1p(std::exp(-std::abs(x)));
}

class StickBreaking final : public Oracle {
public:
    void rescore_row(Vector& row, const ScoreRow& at) const override {
        const Vector scores = row;
        for (std::size_t j = 0; j < row.size(); ++j) {
            row[j] = j < at.own ? ln_sigmoid(scores[j]) : -std::numeric_limits<double>::infinity();
            for (std::size_t k = j + 1; k < at.own; ++k) row[j] += ln_sigmoid(-scores[k]);
        }
    }
    double sink_of(const ScoreRow& at, const Vector& scores) const override {
        double rest = 0;
        for (std::size_t k = 0; k < at.own; ++k) rest += ln_sigmoid(-scores[k]);
        return rest;
    }
};

const Registration stick_breaking("stick-breaking", [](const Item&, const Setting&) -> std::unique_ptr<Oracle> {
    return std::make_unique<StickBreaking>();
});

} // namespace
} // namespace ordo::reference
