// SPDX-License-Identifier: MIT
// Kurzion: theta = 2 pi / 36; vec <- scale * R_t vec with scale = (floor(t/36) + 1) * 0.1 * |vec|, and R_t as a matrix.
// With an odd width the last column is not rotated.
#include "tests/oracle.h"

#include <cmath>

namespace ordo::reference {
namespace {

class RotateStretch final : public Oracle {
public:
    explicit RotateStretch(const Item& item) : period_(item.number("period")), step_(item.number("step")) {}
    void embed(Vector& x, const Place& at, int) const override {
        const auto d = static_cast<int>(x.size());
        const double theta = 2 * std::acos(-1.0) / period_;
        Matrix r(d, d);
        for (int i = 0; i < d; ++i) r.at(i, i) = 1;
        for (int i = 0; i + 1 < d; i += 2) {
            r.at(i, i) = r.at(i + 1, i + 1) = std::cos(at[0] * theta);
            r.at(i, i + 1) = -std::sin(at[0] * theta);
            r.at(i + 1, i) = std::sin(at[0] * theta);
        }
        const double scale = (std::floor(at[0] / period_) + 1) * step_ * std::sqrt(dot(x, x));
        Vector y;
        for (int i = 0; i < d; ++i) y.push_back(scale * dot(x, r, i));
        x = y;
    }

private:
    double period_, step_;
};

const Registration rotate_stretch("rotate-stretch", [](const Item& item, const Setting&) -> std::unique_ptr<Oracle> {
    return std::make_unique<RotateStretch>(item);
});

} // namespace
} // namespace ordo::reference
