// SPDX-License-Identifier: MIT
#include "tests/oracle.h"

#include <cmath>

namespace ordo::reference {
namespace {

class ThrowawayQuery final : public Oracle {
public:
    explicit ThrowawayQuery(const Setting& setting) : setting_(setting) {}
    Vector observe(const Vector& x, const Place&, int layer, const Vector&) const override {
        return {dot(x, setting_.of_layer(layer, "weight"), 0)};
    }
    double bias(const Head&, const Side& query, const Side& key) const override {
        return -query.state[0] * std::log(1 + distance(query.at, key.at));
    }

private:
    Setting setting_;
};

const Registration throwaway_query("throwaway-query", [](const Item&, const Setting& s) -> std::unique_ptr<Oracle> {
    return std::make_unique<ThrowawayQuery>(s);
});

} // namespace
} // namespace ordo::reference
