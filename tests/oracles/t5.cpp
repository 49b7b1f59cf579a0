// SPDX-License-Identifier: MIT
// Raffel et al. 2020 (arXiv 1910.10683), section 2.1, and its code's _relative_position_bucket: score + B[bucket, h],
// with one table for all layers. Half of the buckets hold one distance each. The others grow logarithmically up to
// `distance`, where the last begins. If a query also sees later keys, half of all buckets are for these.
#include "tests/oracle.h"

#include <algorithm>
#include <cmath>

namespace ordo::reference {
namespace {

class T5 final : public Oracle {
public:
    T5(const Item& item, const Setting& setting)
        : setting_(setting), buckets_(item.integer("buckets")), most_(item.number("distance")) {}
    double bias(const Head& of, const Side& query, const Side& key) const override {
        const double ahead = double(key.at[0]) - query.at[0];
        int bucket = 0;
        if (setting_.dims.mask == Mask::bidirectional)
            bucket = ahead > 0 ? buckets_ / 2 + of_distance(ahead, buckets_ / 2) : of_distance(-ahead, buckets_ / 2);
        else
            bucket = of_distance(std::max(-ahead, 0.0), buckets_);
        return setting_.shared("weight").at(bucket, of.head);
    }

private:
    // Logarithmic bucket m begins at distance = exact (most/exact)^(m/n). The code computes this form slightly early,
    // so that rounding cannot move a bucket's first distance into the bucket before.
    int of_distance(double d, int buckets) const {
        const int exact = buckets / 2, n = buckets - exact;
        if (d < exact) return static_cast<int>(d);
        int m = 0;
        while (m + 1 < n && d >= exact * std::pow(most_ / exact, (m + 1 - 1e-9) / n)) ++m;
        return exact + m;
    }

    Setting setting_;
    int buckets_;
    double most_;
};

const Registration t5("t5", [](const Item& item, const Setting& setting) -> std::unique_ptr<Oracle> {
    return std::make_unique<T5>(item, setting);
});

} // namespace
} // namespace ordo::reference
