// SPDX-License-Identifier: MIT
#include "tests/oracle.h"

#include <cmath>

namespace ordo::reference {
namespace {

class ThrowawayBias final : public Oracle {
public:
    explicit ThrowawayBias(const Setting& setting) : setting_(setting) {}
    double bias(const Head& of, const Side& query, const Side& key) const override {
        return -setting_.of_layer(of.layer, "slopes").at(0, of.head) * std::log(1 + distance(query.at, key.at));
    }

private:
    Setting setting_;
};

const Registration throwaway_bias("throwaway-bias", [](const Item&, const Setting& s) -> std::unique_ptr<Oracle> {
    return std::make_unique<ThrowawayBias>(s);
});

} // namespace
} // namespace ordo::reference
