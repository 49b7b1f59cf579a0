// SPDX-License-Identifier: MIT
#include "core/error.h"
#include "encoding/base/distance_bias.h"

#include <cmath>

namespace ordo {

const EncodingInfo t5_encoding = {
    .name = "t5",
    .summary = "adds a trained number for each head and bucket of distances to scores",
    .paper = "Raffel et al. 2020, arXiv 1910.10683",
    .formula = "score(i, j) = q_i . k_j * scale + W[bucket(p_i - p_j), h],  the same W in all layers\n"
               "bucket(D) = D below n/2, then logarithmic, n - 1 from `distance` on;  n = buckets\n"
               "bidirectional: n = buckets/2 for keys before, and as many for those after",
    .make = t5_file::make,
};

namespace t5_file {

// Section 2.1, and the authors' code: for D from n/2 on, bucket(D) = min(n - 1, n/2 + floor(ln(D / (n/2)) /
// ln(distance / (n/2)) * (n - n/2))). In a causal model D = 0 for a later key.
class T5 final : public DistanceBias {
public:
    using DistanceBias::DistanceBias;
    void parameters(Params& p) override {
        const int unit = causal() ? 2 : 4; // the first half of a direction's buckets hold one distance each
        p.integer("buckets", buckets_, unit, 4096,
                  "the number of buckets; the first half hold one distance each (bidirectional: for each direction)");
        if (buckets_ % unit != 0)
            fail(ErrorCode::usage, "t5: buckets: expected a multiple of ", unit, ", found ", buckets_);
        p.integer("distance", distance_, buckets_ / unit + 1, 1 << 20, "distances from here on share the last bucket");
    }
    std::vector<TensorSpec> tensors() const override { // as T5 is initialised, with a factor of 1
        const auto deviation = static_cast<float>(1 / std::sqrt(dims().d_model));
        return {{.name = "weight", .shape = {buckets_, heads()}, .initial = InitialValues::normal(deviation)}};
    }
    double value(int, int head, std::int64_t distance) const override {
        return static_cast<double>(tensor(0, 0).row(bucket(distance))[head]);
    }
    void bias_backward(View d_scores, const Tile& tile, const Gradients& gradient) const override {
        const auto add = [&](auto D, float sum) { gradient.tensors[0].row(bucket(D))[tile.head] += sum; };
        sum_by_distance(d_scores, tile, add);
    }
    std::vector<NamedTable> tables() const override {
        std::vector<std::string> header = {"distance", "bucket"};
        if (!causal()) header.emplace_back("bucket_of_later");
        const auto buckets = [this](int d, std::span<double> out) {
            out[1] = bucket(d);
            if (!causal()) out[2] = bucket(-d);
        };
        return {bias_table(), by_position("buckets", header, buckets), rows_of_tensor("weights", 0, "head")};
    }

private:
    bool causal() const { return dims().mask == Mask::causal; }
    int bucket(std::int64_t distance) const {
        const int n = causal() ? buckets_ : buckets_ / 2, exact = n / 2; // n: buckets of one sign
        const int first = !causal() && distance < 0 ? n : 0;
        const auto D = static_cast<int>(std::clamp<std::int64_t>(first > 0 ? -distance : distance, 0, distance_));
        if (D < exact || D == distance_) return first + (D < exact ? D : n - 1);
        const double steps = std::log(1.0 * D / exact) / std::log(1.0 * distance_ / exact) * (n - exact);
        // The 1e-9 is for integer quotients that rounding makes smaller.
        return first + std::min(n - 1, exact + static_cast<int>(std::floor(steps + 1e-9)));
    }

    int buckets_ = 32, distance_ = 128;
};

std::unique_ptr<RegisteredEncoding> make(const Dims& dims) {
    return make_registered<T5>(dims);
}

} // namespace t5_file
} // namespace ordo
