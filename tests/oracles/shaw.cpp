// SPDX-License-Identifier: MIT
// Shaw et al. 2018 (arXiv 1803.02155), equations 3 and 4 with section 3.2: e_ij = q_i . (k_j + a^K_ij) / sqrt(d), z_i =
// sum_j w_ij (v_j + a^V_ij). a_ij is the row clip(j - i, -clip, clip) of a table that the heads share.
#include "tests/oracle.h"

#include <algorithm>

namespace ordo::reference {
namespace {

class Shaw final : public Oracle {
public:
    Shaw(const Item& item, const Setting& setting)
        : setting_(setting), clip_(item.integer("clip")), values_(item.is("values", "yes")) {}
    double bias(const Head& of, const Side& query, const Side& key) const override {
        return of.scale * dot(query.x, setting_.of_layer(of.layer, "keys"), row(query, key));
    }
    void mix(Vector& out, double weight, const Head& of, const Side& query, const Side& key) const override {
        if (!values_) return;
        const Matrix& table = setting_.of_layer(of.layer, "values");
        for (std::size_t l = 0; l < out.size(); ++l) out[l] += weight * table.at(row(query, key), static_cast<int>(l));
    }

private:
    int row(const Side& query, const Side& key) const {
        return std::clamp(key.at[0] - query.at[0], -clip_, clip_) + clip_;
    }

    Setting setting_;
    int clip_;
    bool values_;
};

const Registration shaw("shaw", [](const Item& item, const Setting& setting) -> std::unique_ptr<Oracle> {
    return std::make_unique<Shaw>(item, setting);
});

} // namespace
} // namespace ordo::reference
