// SPDX-License-Identifier: MIT
#include "tests/oracle.h"

#include <cmath>

namespace ordo::reference {
namespace {

class ThrowawayScale final : public Oracle {
public:
    explicit ThrowawayScale(const Setting& setting) : setting_(setting) {}
    bool scales_queries() const override { return true; }
    void rotate(Vector& x, const Place& at, Role role, int layer, int head) const override {
        if (role != Role::query) return;
        for (double& value : x) value *= std::exp(setting_.of_layer(layer, "growth").at(0, head) * (at[0] % 3));
    }

private:
    Setting setting_;
};

const Registration throwaway_scale("throwaway-scale", [](const Item&, const Setting& s) -> std::unique_ptr<Oracle> {
    return std::make_unique<ThrowawayScale>(s);
});

} // namespace
} // namespace ordo::reference
