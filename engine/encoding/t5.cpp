// SPDX-License-Identifier: MIT
// T5's bias: a trained number for each head and bucket of distances, added to scaled scores, the same in all layers.
//   score(i, j) += W[bucket(p_i - p_j), h],  W = weight [buckets, n_heads]
//   bucket(D) = D for D < n/2, else min(n - 1, n/2 + floor(ln(D / (n/2)) / ln(distance / (n/2)) * (n - n/2)))
// A causal model has n = buckets, and D = 0 for a key that is later; a bidirectional one n = buckets/2 for |D|, and keys
// that are later have the second half. From `distance` on all are in the last bucket. T5's own scores are not scaled
// (the model's scale is 1). Raffel et al. 2020, arXiv 1910.10683, section 2.1, and the authors' code.
#include "core/error.h"
#include "encoding/base/distance_bias.h"
#include "encoding/base/table.h"

#include <cmath>

namespace ordo {
namespace {

class T5 final : public DistanceBias {
public:
    using DistanceBias::DistanceBias;

    void parameters(Params& p) override {
        const int unit = causal() ? 2 : 4; // half a side is exact
        p.integer("buckets", buckets_, unit, 4096, "of distances; half of a sign's hold one distance each");
        if (buckets_ % unit != 0)
            fail(ErrorCode::usage, "t5: buckets: expected a multiple of ", unit, ", found ", buckets_);
        p.integer("distance", distance_, buckets_ / unit + 1, 1 << 20, "from which on all are in the last bucket");
    }
    void ready() override {
        const int n = side(), exact = n / 2;
        for (int d = 0; d < distance_; ++d) {
            // The 1e-9 is for quotients that are whole numbers, which rounding may leave below.
            const double steps = d < exact ? 0
                                           : std::log(static_cast<double>(d) / exact) /
                                                 std::log(static_cast<double>(distance_) / exact) * (n - exact);
            near_.push_back(d < exact ? d : std::min(n - 1, exact + static_cast<int>(std::floor(steps + 1e-9))));
        }
        DistanceBias::ready();
    }
    std::vector<TensorSpec> tensors() const override { // as T5 is initialised, with a factor of 1
        const float deviation = static_cast<float>(1 / std::sqrt(static_cast<double>(dims().d_model)));
        return {{.name = "weight", .shape = {buckets_, heads()}, .initial = InitialValues::normal(deviation)}};
    }

    float added(int, int head, std::int64_t distance) const override {
        return tensor(0, 0).row(bucket(distance))[head];
    }
    double value(int slot, int head, std::int64_t distance) const override {
        return static_cast<double>(added(slot, head, distance));
    }
    void bias_backward(View d_scores, const Tile& tile, const TileGradient& gradient) const override {
        const View grad = gradient.tensors[0];
        sum_by_distance(d_scores, tile,
                        [&](std::int64_t distance, float sum) { grad.row(bucket(distance))[tile.head] += sum; });
    }

    // buckets: of distances, and of keys that are later where the model is bidirectional. weights: of buckets and heads.
    std::vector<std::string> table_parts() const override { return {"table", "buckets", "weights"}; }
    TableRows table_rows(const TableRequest& request) const override {
        const std::string part = checked_part(*this, request);
        if (part == "buckets")
            return make_table(causal() ? std::vector<std::string>{"distance", "bucket"}
                                       : std::vector<std::string>{"distance", "bucket", "bucket_of_later"},
                              request.length, [this, start = request.start](std::int64_t i, std::span<double> out) {
                                  const int distance = start + static_cast<int>(i);
                                  out[0] = distance;
                                  out[1] = bucket(distance);
                                  if (!causal()) out[2] = bucket(-distance);
                              });
        if (part == "table") return DistanceBias::table_rows(request);
        return rows_table(tensor(requested_slot(request), 0), 0, buckets_, "head");
    }

private:
    bool causal() const { return dims().mask == Mask::causal; }
    int side() const { return causal() ? buckets_ : buckets_ / 2; } // buckets of one sign
    int bucket(std::int64_t distance) const {
        if (causal()) return near(std::max<std::int64_t>(distance, 0));
        return near(std::abs(distance)) + (distance < 0 ? side() : 0);
    }
    int near(std::int64_t distance) const {
        return distance < distance_ ? near_[static_cast<std::size_t>(distance)] : side() - 1;
    }

    int buckets_ = 32, distance_ = 128;
    std::vector<int> near_; // buckets of distances below distance_
};

} // namespace

const EncodingInfo t5_encoding = {
    .name = "t5",
    .summary = "adds a trained number for each head and bucket of distances to scores",
    .paper = "Raffel et al. 2020, arXiv 1910.10683",
    .formula = "score(i, j) = q_i . k_j * scale + W[bucket(p_i - p_j), h],  the same W in all layers\n"
               "bucket(D) = D below n/2, then logarithmic, n - 1 from `distance` on;  n = buckets\n"
               "bidirectional: n = buckets/2 for keys before, and as many for those after",
    .make = make_registered<T5>,
};

} // namespace ordo
