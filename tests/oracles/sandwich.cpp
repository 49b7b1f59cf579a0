// SPDX-License-Identifier: MIT
// Chi et al. 2023 (arXiv 2212.10356), section 6: the product of two positions' sinusoids, sum_{k=1}^{d/2} cos((m - n) /
// 10000^(2k/d)), minus its maximum d/2, over 8 h / H for the h-th of H heads. h and k count from one. NeMo's
// SandwichRelativePositionEmbedding does the same, and agrees with the paper's text. The oracle multiplies the vectors
// themselves.
#include "tests/oracle.h"

#include <cmath>

namespace ordo::reference {
namespace {

class Sandwich final : public Oracle {
public:
    Sandwich(const Item& item, const Setting& setting)
        : scale_(item.number("scale")), width_(item.integer("width")), n_heads_(setting.dims.n_heads) {}
    double bias(const Head& of, const Side& query, const Side& key) const override {
        const double product = dot(sinusoids(query.at[0]), sinusoids(key.at[0]));
        return (product - width_ / 2.0) / (scale_ * (of.head + 1) / n_heads_);
    }

private:
    Vector sinusoids(int position) const {
        Vector p;
        for (int k = 1; k <= width_ / 2; ++k) {
            const double angle = position / std::pow(10000, 2.0 * k / width_);
            p.push_back(std::sin(angle));
            p.push_back(std::cos(angle));
        }
        return p;
    }

    double scale_;
    int width_, n_heads_;
};

const Registration sandwich("sandwich", [](const Item& item, const Setting& setting) -> std::unique_ptr<Oracle> {
    return std::make_unique<Sandwich>(item, setting);
});

} // namespace
} // namespace ordo::reference
