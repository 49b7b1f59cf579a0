// SPDX-License-Identifier: MIT
// Gopalakrishnan et al. 2025 (arXiv 2509.10534): magnitudes softplus(x) at angles of the position. The query's is p
// w_c, the key's p w_c + delta_c, with delta trained for each key/value head and clamped to -2 pi .. 0, and w_c =
// theta^(-c/n) for n magnitudes. At half width the first half of the columns are the magnitudes, and the vector becomes
// (mu cos, mu sin), in halves as in x-transformers.
#include "tests/oracle.h"

#include <algorithm>
#include <cmath>

namespace ordo::reference {
namespace {

class Pope final : public Oracle {
public:
    Pope(const Item& item, const Setting& setting) : setting_(setting), theta_(item.number("theta")) {}
    void rotate(Vector& x, const Place& at, Role role, int layer, int head) const override {
        const Vector old = x;
        const std::size_t n = x.size() / 2;
        for (std::size_t c = 0; c < n; ++c) {
            const double magnitude = std::log1p(std::exp(-std::abs(old[c]))) + std::max(old[c], 0.0);
            double angle = at[0] * std::pow(theta_, -static_cast<double>(c) / static_cast<double>(n));
            angle = std::remainder(angle, 2 * std::acos(-1.0)); // the shift keeps its digits beside a far position
            if (role == Role::key)
                angle += std::clamp(setting_.of_layer(layer, "shift").at(head, static_cast<int>(c)),
                                    -2 * std::acos(-1.0), 0.0);
            x[c] = magnitude * std::cos(angle);
            x[n + c] = magnitude * std::sin(angle);
        }
    }

private:
    Setting setting_;
    double theta_;
};

const Registration pope("pope", [](const Item& item, const Setting& setting) -> std::unique_ptr<Oracle> {
    return std::make_unique<Pope>(item, setting);
});

} // namespace
} // namespace ordo::reference
