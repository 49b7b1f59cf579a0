// SPDX-License-Identifier: MIT
// Li et al. 2024 (arXiv 2310.04418), equation 6: score + f(psi(i - j) / psi(max(L, i))). psi(x) is ln(c x + 1), and f
// is an MLP with one hidden layer of ReLUs and an output for each head. The authors' code (appendix) takes |c x|, adds
// 1e-6 to the denominator and trains L as |l| T, where T is a fixed threshold. If a query sees later keys, i is the
// later of the two positions, so that the fraction stays below one.
#include "tests/oracle.h"

#include <algorithm>
#include <cmath>

namespace ordo::reference {
namespace {

class Fire final : public Oracle {
public:
    Fire(const Item& item, const Setting& setting)
        : setting_(setting), threshold_(item.number("threshold")), width_(item.integer("width")) {}
    double bias(const Head& of, const Side& query, const Side& key) const override {
        const auto tensor = [&](const char* name) -> const Matrix& { return setting_.of_layer(of.layer, name); };
        const double c = tensor("c").at(0, 0), least = std::abs(tensor("l").at(0, 0) * threshold_);
        const double i = std::max({double(query.at[0]), double(key.at[0]), least});
        const auto psi = [&](double x) { return std::log(std::abs(c * x) + 1); };
        const double x = psi(distance(query.at, key.at)) / (psi(i) + 1e-6);
        double y = tensor("out.bias").at(0, of.head);
        for (int w = 0; w < width_; ++w) {
            const double hidden = tensor("in.weight").at(w, 0) * x + tensor("in.bias").at(0, w);
            y += tensor("out.weight").at(of.head, w) * std::max(hidden, 0.0);
        }
        return y;
    }

private:
    Setting setting_;
    double threshold_;
    int width_;
};

const Registration fire("fire", [](const Item& item, const Setting& setting) -> std::unique_ptr<Oracle> {
    return std::make_unique<Fire>(item, setting);
});

} // namespace
} // namespace ordo::reference
