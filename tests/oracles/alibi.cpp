// SPDX-License-Identifier: MIT
// Press et al. 2022 (arXiv 2108.12409): score - m_h |i - j|. For n heads, if n is a power of two, m is a geometric
// sequence with first element and ratio 2^(-8/n). For other n (section 3, footnote, and the authors' code) it is the
// sequence of the power of two below. It continues with every other element of the sequence for twice as many heads.
// Trained slopes use the same formula with m from a tensor (MPT, "learned ALiBi"). Penalties other than the paper's
// (its authors tried some): |i - j|^power, 1 - exp(-|i - j| / length) and exp(|i - j| / length) - 1, at most 1e30.
#include "tests/oracle.h"

#include <algorithm>
#include <cmath>

namespace ordo::reference {
namespace {

Vector slopes_of(int n, double max) {
    int power = 1;
    while (2 * power <= n) power *= 2;
    Vector slopes;
    const double ratio = std::pow(2.0, -max / power);
    for (double slope = ratio; static_cast<int>(slopes.size()) < power; slope *= ratio) slopes.push_back(slope);
    if (power == n) return slopes;
    const Vector finer = slopes_of(2 * power, max);
    for (std::size_t i = 0; static_cast<int>(slopes.size()) < n; i += 2) slopes.push_back(finer[i]);
    return slopes;
}

class Alibi final : public Oracle {
public:
    Alibi(const Item& item, const Setting& setting)
        : setting_(setting), slopes_(slopes_of(setting.dims.n_heads, item.number("max"))), power_(item.number("power")),
          exponential_(item.is("penalty", "exponential")), growing_(item.is("penalty", "growing")),
          length_(item.number("length", 64)), trained_(item.is("trained", "yes")) {
        for (double& slope : slopes_) slope *= item.number("scale", 1);
    }
    double bias(const Head& of, const Side& query, const Side& key) const override {
        const double d = distance(query.at, key.at);
        const double slope = trained_ ? setting_.of_layer(of.layer, "slopes").at(0, of.head) : slopes_[of.head];
        return -slope * (growing_       ? std::min(std::exp(d / length_) - 1, 1e30)
                         : exponential_ ? 1 - std::exp(-d / length_)
                                        : std::pow(d, power_));
    }

private:
    Setting setting_;
    Vector slopes_;
    double power_;
    bool exponential_, growing_;
    double length_;
    bool trained_;
};

const Registration alibi("alibi", [](const Item& item, const Setting& setting) -> std::unique_ptr<Oracle> {
    return std::make_unique<Alibi>(item, setting);
});

} // namespace
} // namespace ordo::reference
