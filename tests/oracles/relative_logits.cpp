// SPDX-License-Identifier: MIT
// Inkling (Thinking Machines 2026), as in transformers' modular_inkling.py: score + r_i,h . T[:, i - j] with r = W x,
// no bias, for a distance from 0 to extent - 1, and 0 elsewhere. The heads of a layer share T [rank, extent].
#include "tests/oracle.h"

namespace ordo::reference {
namespace {

class RelativeLogits final : public Oracle {
public:
    RelativeLogits(const Item& item, const Setting& setting)
        : setting_(setting), rank_(item.integer("rank")), extent_(item.integer("extent")) {}
    Vector observe(const Vector& x, const Place&, int layer, const Vector&) const override {
        const Matrix& projection = setting_.of_layer(layer, "projection");
        Vector r;
        for (int i = 0; i < projection.rows; ++i) r.push_back(dot(x, projection, i));
        return r;
    }
    double bias(const Head& of, const Side& query, const Side& key) const override {
        const int distance = query.at[0] - key.at[0];
        if (distance < 0 || distance >= extent_) return 0;
        double sum = 0;
        for (int c = 0; c < rank_; ++c)
            sum += query.state[of.head * rank_ + c] * setting_.of_layer(of.layer, "table").at(c, distance);
        return sum;
    }

private:
    Setting setting_;
    int rank_, extent_;
};

const Registration relative_logits("relative-logits",
                                   [](const Item& item, const Setting& setting) -> std::unique_ptr<Oracle> {
                                       return std::make_unique<RelativeLogits>(item, setting);
                                   });

} // namespace
} // namespace ordo::reference
