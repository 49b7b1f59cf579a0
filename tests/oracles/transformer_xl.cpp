// SPDX-License-Identifier: MIT
// Dai et al. 2019 (arXiv 1901.02860), section 3.3: q.k + q.(W_R s(i - j)) + u.k + v.(W_R s(i - j)), all of it scaled.
// Each head has its own u and v, and its own rows of W_R [heads e, width]. As in the authors' code, s(x) is the sines
// of x / 10000^(2k/width), then the cosines. As there, too, u is added to the query, so that the product with the key
// contains its term.
#include "tests/oracle.h"

#include <cmath>

namespace ordo::reference {
namespace {

class TransformerXl final : public Oracle {
public:
    TransformerXl(const Item& item, const Setting& setting) : setting_(setting), width_(item.integer("width")) {}
    void rotate(Vector& x, const Place&, Role role, int layer, int head) const override {
        if (role == Role::query)
            for (std::size_t l = 0; l < x.size(); ++l) x[l] += vector(layer, "u", head, l);
    }
    double bias(const Head& of, const Side& query, const Side& key) const override {
        const Vector s = sinusoids(double(query.at[0]) - key.at[0]);
        const Matrix& projection = setting_.of_layer(of.layer, "projection");
        const int first = of.head * static_cast<int>(query.x.size());
        double score = 0;
        for (std::size_t l = 0; l < query.x.size(); ++l) {
            const double q = query.x[l] - vector(of.layer, "u", of.head, l);
            score += (q + vector(of.layer, "v", of.head, l)) * dot(s, projection, first + static_cast<int>(l));
        }
        return of.scale * score;
    }

private:
    double vector(int layer, const char* name, int head, std::size_t l) const {
        return setting_.of_layer(layer, name).at(head, static_cast<int>(l));
    }
    Vector sinusoids(double x) const {
        Vector s;
        for (int k = 0; k < width_ / 2; ++k) s.push_back(std::sin(x / std::pow(10000, 2.0 * k / width_)));
        for (int k = 0; k < width_ / 2; ++k) s.push_back(std::cos(x / std::pow(10000, 2.0 * k / width_)));
        return s;
    }

    Setting setting_;
    int width_;
};

const Registration transformer_xl("transformer-xl",
                                  [](const Item& item, const Setting& setting) -> std::unique_ptr<Oracle> {
                                      return std::make_unique<TransformerXl>(item, setting);
                                  });

} // namespace
} // namespace ordo::reference
