// SPDX-License-Identifier: MIT
// He et al. 2021 (arXiv 2006.03654), equations 3 and 4: content to content q_i.k_j, content to position
// q_i.K_r[delta(i, j)], position to content k_j.Q_r[delta(j, i)], and their sum over sqrt(3 d). The factor has one d
// for each term, as in the authors' code if some terms are omitted. delta(i, j) is i - j + k, limited to 0 .. 2k - 1.
// Scaling the query scales the content term. With `distance`, i - j beyond m = k / 2 is in a bucket, as in the authors'
// code for the second version: the buckets from m on end at m ((distance - 1) / m)^(n / (m - 1)), n = 0, 1, ...
#include "tests/oracle.h"

#include <algorithm>
#include <cmath>

namespace ordo::reference {
namespace {

class Deberta final : public Oracle {
public:
    Deberta(const Item& item, const Setting& setting)
        : setting_(setting), span_(item.integer("span")),
          distance_(item.has("distance") ? item.integer("distance") : 0), to_position_(!item.is("terms", "p2c")),
          from_position_(!item.is("terms", "c2p")), code_(item.is("order", "code")) {}
    void rotate(Vector& x, const Place&, Role role, int, int) const override {
        if (role == Role::query)
            for (double& value : x) value *= factor();
    }
    double bias(const Head& of, const Side& query, const Side& key) const override {
        const int first = of.head * static_cast<int>(query.x.size()), i = query.at[0], j = key.at[0];
        double score = 0; // the query contains the factor
        if (to_position_) score += dot(query.x, setting_.of_layer(of.layer, "keys"), delta(i, j), first);
        if (from_position_)
            score +=
                factor() * dot(key.x, setting_.of_layer(of.layer, "queries"), code_ ? delta(i, j) : delta(j, i), first);
        return of.scale * score;
    }

private:
    double factor() const { return 1 / std::sqrt(to_position_ && from_position_ ? 3.0 : 2.0); }
    int delta(int i, int j) const {
        const int D = std::min(std::abs(i - j), 1 << 30), sign = i < j ? -1 : 1;
        return std::clamp(sign * (distance_ == 0 ? D : bucket(D)) + span_, 0, 2 * span_ - 1);
    }
    int bucket(int D) const {
        const int m = span_ / 2;
        if (D <= m || m == 1) return std::min(D, m);
        int n = 0;
        while (n <= m && m * std::pow((distance_ - 1.0) / m, n / (m - 1.0)) < D * (1 - 1e-9)) ++n;
        return m + n;
    }

    Setting setting_;
    int span_, distance_;
    bool to_position_, from_position_, code_;
};

const Registration deberta("deberta", [](const Item& item, const Setting& setting) -> std::unique_ptr<Oracle> {
    return std::make_unique<Deberta>(item, setting);
});

} // namespace
} // namespace ordo::reference
