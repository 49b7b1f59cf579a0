// SPDX-License-Identifier: MIT
#include "tests/oracle.h"

#include <cmath>

namespace ordo::reference {
namespace {

class ThrowawayTurn final : public Oracle {
public:
    explicit ThrowawayTurn(const Setting& setting) : setting_(setting) {}
    Vector observe(const Vector& x, const Place&, int layer, const Vector& before) const override {
        return {(before.empty() ? 0 : before[0]) + dot(x, setting_.of_layer(layer, "weight"), 0)};
    }
    bool rotates(Role) const override { return true; }
    void rotate_with(Vector& x, const Place&, const Vector& state, Role role, int, int) const override {
        const double angle = role == Role::output ? -state[0] : state[0], a = x[0], b = x[1];
        x[0] = a * std::cos(angle) - b * std::sin(angle);
        x[1] = a * std::sin(angle) + b * std::cos(angle);
    }

private:
    Setting setting_;
};

const Registration throwaway_turn("throwaway-turn", [](const Item&, const Setting& s) -> std::unique_ptr<Oracle> {
    return std::make_unique<ThrowawayTurn>(s);
});

} // namespace
} // namespace ordo::reference
