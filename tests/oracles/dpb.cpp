// SPDX-License-Identifier: MIT
// Dynamic position bias: an MLP of the distance i - j with SiLUs gives a number for each head. As in x-transformers'
// DynamicPositionBias, all layers share it, and the distance is i - j or sign(i - j) ln(1 + |i - j|). See Wang et al.
// 2021 (CrossFormer, arXiv 2108.00154), section 3.3.
#include "tests/oracle.h"

#include <cmath>

namespace ordo::reference {
namespace {

class DynamicBias final : public Oracle {
public:
    DynamicBias(const Item& item, const Setting& setting)
        : setting_(setting), depth_(item.integer("depth")), logarithm_(item.is("distance", "log")) {}
    double bias(const Head& of, const Side& query, const Side& key) const override {
        const double d = double(query.at[0]) - key.at[0];
        Vector h = {!logarithm_ ? d : std::copysign(std::log1p(std::abs(d)), d)};
        h = layer(h, "in");
        for (int i = 1; i < depth_; ++i) h = layer(h, "hidden");
        return dot(h, setting_.shared("out.weight"), of.head) + setting_.shared("out.bias").at(0, of.head);
    }

private:
    Vector layer(const Vector& x, const std::string& name) const {
        const Matrix& weight = setting_.shared(name + ".weight");
        Vector y;
        for (int i = 0; i < weight.rows; ++i) {
            const double z = dot(x, weight, i) + setting_.shared(name + ".bias").at(0, i);
            y.push_back(z / (1 + std::exp(-z)));
        }
        return y;
    }

    Setting setting_;
    int depth_;
    bool logarithm_;
};

const Registration dpb("dpb", [](const Item& item, const Setting& setting) -> std::unique_ptr<Oracle> {
    return std::make_unique<DynamicBias>(item, setting);
});

} // namespace
} // namespace ordo::reference
