// SPDX-License-Identifier: MIT
#include "tests/oracle.h"

#include <cmath>

namespace ordo::reference {
namespace {

class ThrowawayRest final : public Oracle {
public:
    explicit ThrowawayRest(const Setting& setting) : setting_(setting) {}
    double sink_of(const ScoreRow& at, const Vector& scores) const override {
        double sum = dot(at.query.x, setting_.of_layer(at.of.layer, "weight"), 0);
        for (const double score : scores) sum += std::tanh(score);
        return sum;
    }

private:
    Setting setting_;
};

const Registration throwaway_rest("throwaway-rest", [](const Item&, const Setting& s) -> std::unique_ptr<Oracle> {
    return std::make_unique<ThrowawayRest>(s);
});

} // namespace
} // namespace ordo::reference
