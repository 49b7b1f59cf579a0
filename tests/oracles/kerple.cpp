// SPDX-License-Identifier: MIT
// Chi et al. 2022 (arXiv 2205.09921), equations 2 and 3: score - r1 |i - j|^r2 with r1 > 0 and 0 < r2 <= 2, or score -
// r1 ln(1 + r2 |i - j|) with r1, r2 > 0, trained in each layer and head. The authors' code clamps them above 0.01, and
// the exponent below 2.
#include "tests/oracle.h"

#include <algorithm>
#include <cmath>

namespace ordo::reference {
namespace {

class Kerple final : public Oracle {
public:
    Kerple(const Item& item, const Setting& setting) : setting_(setting), power_(item.is("kernel", "power")) {}
    double bias(const Head& of, const Side& query, const Side& key) const override {
        const double d = distance(query.at, key.at);
        const double r1 = std::max(setting_.of_layer(of.layer, "r1").at(0, of.head), 0.01);
        const double r2 = std::max(setting_.of_layer(of.layer, "r2").at(0, of.head), 0.01);
        return power_ ? -r1 * std::pow(d, std::min(r2, 2.0)) : -r1 * std::log(1 + r2 * d);
    }

private:
    Setting setting_;
    bool power_;
};

const Registration kerple("kerple", [](const Item& item, const Setting& setting) -> std::unique_ptr<Oracle> {
    return std::make_unique<Kerple>(item, setting);
});

} // namespace
} // namespace ordo::reference
