// SPDX-License-Identifier: MIT
// T5's bias: a trained number for each head and bucket of distances, added to scaled scores, the same in all layers.
//   score(i, j) += W[bucket(p_i - p_j), h],  W = weight [buckets, n_heads]
//   bucket(D) = D for D < n/2, else min(n - 1, n/2 + floor(ln(D / (n/2)) / ln(distance / (n/2)) * (n - n/2)))
// A causal model has n = buckets, and D = 0 for a key that is later; a bidirectional one n = buckets/2 for |D|, and keys
// that are later have the second half. From `distance` on all are in the last bucket. T5's own scores are not scaled
// (the model's scale is 1). Raffel et al. 2020, arXiv 1910.10683, section 2.1, and the authors' code.
#include "core/error.h"
#include "encoding/distance_table.h"
#include "encoding/layer_tensors.h"
#include "encoding/registry.h"
#include "encoding/table.h"

#include <cmath>
#include <cstdlib>

namespace ordo {
namespace {

class T5 final : public Encoding {
public:
    T5(int buckets, int distance, const Dims& dims)
        : buckets_(buckets), distance_(distance), n_heads_(dims.n_heads), d_model_(dims.d_model), mask_(dims.mask),
          table_(dims.n_heads, dims.mask == Mask::bidirectional,
                 [this](int head, std::int64_t d) { return weight_.row(bucket(d))[head]; }) {
        const int n = side(), exact = n / 2;
        for (int d = 0; d < distance; ++d) {
            // The 1e-9 is for quotients that are whole numbers, which rounding may leave below.
            const double steps = d < exact ? 0
                                           : std::log(static_cast<double>(d) / exact) /
                                                 std::log(static_cast<double>(distance) / exact) * (n - exact);
            near_.push_back(d < exact ? d : std::min(n - 1, exact + static_cast<int>(std::floor(steps + 1e-9))));
        }
    }

    std::string spec() const override { return SpecWriter("t5")("buckets", buckets_)("distance", distance_).text(); }
    unsigned moments() const override { return moment_bias; }

    std::vector<TensorSpec> tensors() const override {
        // As T5 is initialised, with a factor of 1.
        const float deviation = static_cast<float>(1 / std::sqrt(static_cast<double>(d_model_)));
        return {{.name = "weight", .shape = {buckets_, n_heads_}, .initial = InitialValues::normal(deviation)}};
    }
    void bind(int, std::span<const View> tensors) override { weight_ = tensors[0]; }
    void prepare(int n_positions) override {
        if (weight_.data) table_.prepare(n_positions);
    }

    void bias(View scores, const Tile& tile) const override { table_.add(scores, tile.head, tile); }
    void bias_backward(View d_scores, const Tile& tile, const TileGradient& gradient) const override {
        const View grad = gradient.tensors[0];
        sum_by_distance(d_scores, tile,
                        [&](std::int64_t distance, float sum) { grad.row(bucket(distance))[tile.head] += sum; });
    }

    Operations operations(Moment moment, const Work& work) const override {
        return {.others = moment == moment_bias ? work.pairs : 0};
    }

    // table: the bias of one head [length, length]. buckets: of distances, with those of keys that are later beside them
    // where the model is bidirectional. weights: of buckets and heads.
    std::vector<std::string> table_parts() const override { return {"table", "buckets", "weights"}; }
    TableRows table_rows(const TableRequest& request) const override {
        const std::string part = checked_part(*this, request);
        if (part == "buckets") return bucket_rows(request);
        if (!weight_.data) fail(ErrorCode::usage, "t5: the table is in the weights: expected a model file, found none");
        if (part == "weights")
            return make_matrix("head", 0, n_heads_, buckets_, [w = weight_](std::int64_t i, std::span<double> out) {
                std::copy_n(w.row(static_cast<int>(i)), w.cols, out.begin());
            });
        check_table_head(*this, n_heads_, request);
        return make_bias_matrix(request, mask_, [this, head = request.head](int query, int key) {
            return static_cast<double>(weight_.row(bucket(std::int64_t{query} - key))[head]);
        });
    }

private:
    int side() const { return mask_ == Mask::causal ? buckets_ : buckets_ / 2; } // buckets of one sign
    int bucket(std::int64_t distance) const {
        if (mask_ == Mask::causal) return near(std::max<std::int64_t>(distance, 0));
        return near(std::abs(distance)) + (distance < 0 ? side() : 0);
    }
    int near(std::int64_t distance) const {
        return distance < distance_ ? near_[static_cast<std::size_t>(distance)] : side() - 1;
    }

    TableRows bucket_rows(const TableRequest& request) const {
        const bool causal = mask_ == Mask::causal;
        std::vector<std::string> header = {"distance", "bucket"};
        if (!causal) header.emplace_back("bucket_of_later");
        return make_table(std::move(header), request.length,
                          [this, causal, start = request.start](std::int64_t i, std::span<double> out) {
                              const int distance = start + static_cast<int>(i);
                              out[0] = distance;
                              out[1] = bucket(distance);
                              if (!causal) out[2] = bucket(-distance);
                          });
    }

    int buckets_, distance_, n_heads_, d_model_;
    Mask mask_;
    std::vector<int> near_; // buckets of distances below distance_
    View weight_;           // [buckets, n_heads]
    DistanceTable table_;   // of each head
};

std::unique_ptr<Encoding> make(const SpecItem& item, const Dims& dims) {
    const int unit = dims.mask == Mask::causal ? 2 : 4; // half a side is exact
    const int buckets = item.integer("buckets", 32, unit, 4096);
    if (buckets % unit != 0) fail(ErrorCode::usage, "t5: buckets: expected a multiple of ", unit, ", found ", buckets);
    return std::make_unique<T5>(buckets, item.integer("distance", 128, buckets / unit + 1, 1 << 20), dims);
}

} // namespace

extern const EncodingInfo t5_encoding;
const EncodingInfo t5_encoding = {
    .name = "t5",
    .summary = "adds a trained number for each head and bucket of distances to scores",
    .paper = "Raffel et al. 2020, arXiv 1910.10683",
    .formula = "score(i, j) = q_i . k_j * scale + W[bucket(p_i - p_j), h],  the same W in all layers\n"
               "bucket(D) = D below n/2, then logarithmic, n - 1 from `distance` on;  n = buckets\n"
               "bidirectional: n = buckets/2 for keys before, and as many for those after",
    .moments = moment_bias,
    .shift_invariant = true,
    .trainable = true,
    .parameters = {{"buckets", "32", "of distances; half of a sign's hold one distance each"},
                   {"distance", "128", "from which on all are in the last bucket"}},
    .make = make,
};

} // namespace ordo
