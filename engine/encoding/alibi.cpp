// SPDX-License-Identifier: MIT
// ALiBi, attention with linear biases: a score falls with the distance, at a slope of the head's own.
//   score(i, j) += -m_h f(|p_i - p_j|),  after the 1/sqrt(d_head) scale, which does not apply to the bias
//   m_h = 2^(-max (h+1)/n), h = 0 .. n-1, for n heads, a power of two
// For other n: the slopes of the power of two p below, then every other slope of 2p heads, which are
// 2^(-max (2(h-p)+1)/(2p)). Press, Smith and Lewis 2022, arXiv 2108.12409, and their code; max is MPT's
// alibi_bias_max; scale multiplies all slopes (Falcon has 1/sqrt(d_head): its bias is scaled with the scores). ALiBi has f(D) = D. Others are f(D) = D^power, up to 2, KERPLE's power kernel (Chi et al. 2022, arXiv
// 2205.09921) with slopes that are not trained, f(D) = 1 - exp(-D / length), a penalty that nears m_h, and f(D) = exp(D / length) - 1, one that grows exponentially. With trained=yes
// m_h is the tensor slopes [n_heads] of each layer, which starts at the slopes above. The distance is taken of the integers:
// it stays exact at positions past 2^24.
#include "core/error.h"
#include "encoding/distance_table.h"
#include "encoding/layer_tensors.h"
#include "encoding/registry.h"
#include "encoding/table.h"
#include "kernels/kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace ordo {
namespace {

double slope(int head, int n_heads, double max) {
    const int p = static_cast<int>(std::bit_floor(static_cast<unsigned>(n_heads)));
    const double steps = head < p ? head + 1.0 : head - p + 0.5;
    return std::exp2(-max * steps / p);
}

// How a score falls with the distance, for a slope of 1.
struct Penalty {
    double power = 1;
    double length = 0; // of the exponential ones; 0: it is a power
    bool grows = false;

    bool is_linear() const { return length == 0 && power == 1; }
    double operator()(std::int64_t distance) const {
        const double D = static_cast<double>(distance < 0 ? -distance : distance);
        if (grows) return std::min(std::expm1(D / length), 1e30); // infinity times a gradient of 0 is no number
        if (length != 0) return -std::expm1(-D / length);
        return power == 1 ? D : std::pow(D, power);
    }
};

class Alibi final : public Encoding {
public:
    Alibi(double max, double scale, Penalty penalty, bool trained, const Dims& dims)
        : max_(max), scale_(scale), penalty_(penalty), trained_(trained), n_heads_(dims.n_heads), mask_(dims.mask),
          tensors_(dims), table_((trained ? dims.layer_count() : 1) * dims.n_heads, dims.mask == Mask::bidirectional,
                                 [this](int row, std::int64_t distance) {
                                     return -(slope_of(row) * static_cast<float>(penalty_(distance)));
                                 }) {
        for (int h = 0; h < n_heads_; ++h) slopes_.push_back(scale * slope(h, n_heads_, max));
    }

    std::string spec() const override {
        SpecWriter spec("alibi");
        spec("max", max_)("power", penalty_.power);
        if (penalty_.length != 0)
            spec("penalty", penalty_.grows ? "growing" : "exponential")("length", penalty_.length);
        if (scale_ != 1) spec("scale", scale_);
        if (trained_) spec("trained", "yes");
        return spec.text();
    }
    unsigned moments() const override { return moment_bias; }

    std::vector<TensorSpec> tensors() const override {
        if (!trained_) return {};
        return {{.name = "slopes",
                 .shape = {n_heads_},
                 .initial = InitialValues::from([slopes = slopes_](std::span<float> out, std::uint64_t) {
                     std::copy(slopes.begin(), slopes.end(), out.begin());
                 }),
                 .per_layer = true}};
    }
    void bind(int layer, std::span<const View> tensors) override {
        if (trained_) tensors_.bind(layer, tensors);
    }
    void prepare(int n_positions) override {
        if (!penalty_.is_linear() && (!trained_ || tensors_.bound())) table_.prepare(n_positions);
    }

    void bias(View scores, const Tile& tile) const override {
        const int row = row_of(tile.layer, tile.head);
        if (!penalty_.is_linear() || tile.keys.axes() != 1) return table_.add(scores, row, tile);
        for (int i = 0; i < scores.rows; ++i)
            kernels().subtract_distance(scores.cols, slope_of(row), tile.queries[static_cast<std::size_t>(i)],
                                        tile.keys.ids().data(), scores.row(i));
    }
    // By the slope: -f(D).
    void bias_backward(View d_scores, const Tile& tile, const TileGradient& gradient) const override {
        if (!trained_) return;
        double d_slope = 0;
        sum_by_distance(d_scores, tile, [&](std::int64_t distance, float sum) {
            d_slope -= static_cast<double>(sum) * penalty_(distance);
        });
        gradient.tensors[0].row(0)[tile.head] += static_cast<float>(d_slope);
    }

    Operations operations(Moment moment, const Work& work) const override {
        return {.others = moment == moment_bias ? (penalty_.is_linear() ? 2 : 1) * work.pairs : 0};
    }

    // table: the bias of one head [length, length]; what a causal mask hides is -inf. slopes: of all heads.
    std::vector<std::string> table_parts() const override { return {"table", "slopes"}; }
    TableRows table_rows(const TableRequest& request) const override {
        const std::string part = checked_part(*this, request);
        std::vector<double> slopes = slopes_;
        if (trained_) {
            const View trained = tensors_.requested(*this, request)[0];
            slopes.assign(trained.row(0), trained.row(0) + n_heads_);
        }
        if (part == "slopes")
            return make_table({"head", "slope"}, n_heads_,
                              [slopes = std::move(slopes)](std::int64_t head, std::span<double> out) {
                                  out[0] = static_cast<double>(head);
                                  out[1] = slopes[static_cast<std::size_t>(head)];
                              });
        check_table_head(*this, n_heads_, request);
        const double m = slopes[static_cast<std::size_t>(request.head)];
        return make_bias_matrix(request, mask_, [m, penalty = penalty_](int query, int key) {
            return 0 - m * penalty(std::int64_t{query} - key);
        });
    }

private:
    // Of table_: the heads of each layer, if they differ.
    int row_of(int layer, int head) const { return trained_ ? tensors_.slot(layer) * n_heads_ + head : head; }
    float slope_of(int row) const {
        return trained_ ? tensors_.of_slot(row / n_heads_)[0].row(0)[row % n_heads_]
                        : static_cast<float>(slopes_[static_cast<std::size_t>(row)]);
    }

    double max_, scale_;
    Penalty penalty_;
    bool trained_;
    int n_heads_;
    Mask mask_;
    std::vector<double> slopes_; // of each head; where they are trained, those to start from
    LayerTensors tensors_;       // slopes [1, n_heads], if they are trained
    DistanceTable table_;        // unless the penalty is linear
};

std::unique_ptr<Encoding> make(const SpecItem& item, const Dims& dims) {
    const double max = item.number("max", 8, 0, 64);
    Penalty penalty{.power = item.number("power", 1, 0.01, 2)};
    const std::string shape = item.choice("penalty", "power", {"power", "exponential", "growing"});
    if (shape != "power") {
        if (penalty.power != 1)
            fail(ErrorCode::usage, "alibi: power: expected 1 with penalty=", shape, ", found ", decimal(penalty.power));
        penalty.grows = shape == "growing";
        penalty.length = item.number("length", 64, 0.01, 1e9);
    }
    const double scale = item.number("scale", 1, 0.0001, 1000000);
    return std::make_unique<Alibi>(max, scale, penalty, item.choice("trained", "no", {"no", "yes"}) == "yes", dims);
}

} // namespace

extern const EncodingInfo alibi_encoding;
const EncodingInfo alibi_encoding = {
    .name = "alibi",
    .summary = "lowers scores with the distance, at a slope of each head's own",
    .paper = "Press et al. 2022, arXiv 2108.12409",
    .formula = "score(i, j) = q_i . k_j * scale - m_h |p_i - p_j|^power\n"
               "penalty=exponential: - m_h (1 - exp(-|p_i - p_j| / length))\n"
               "penalty=growing: - m_h (exp(|p_i - p_j| / length) - 1), at most 1e30 m_h\n"
               "scale = 1/sqrt(d_head), or the model's own; the bias is not multiplied by it\n"
               "m_h = 2^(-max (h+1)/n) for head h of n, a power of two; in between as published",
    .moments = moment_bias,
    .shift_invariant = true,
    .trainable = false,
    .parameters = {{"max", "8", "the smallest slope of all heads is 2^-max"},
                   {"scale", "1", "what all slopes are multiplied by"},
                   {"power", "1", "of the distance; 2 falls with its square"},
                   {"penalty", "power", "power; exponential, which nears the slope; growing, exponentially"},
                   {"length", "64", "of the latter two: the distance at which they are 0.63 and 1.7 times the slope"},
                   {"trained", "no", "yes: the slopes are trained, for each layer"}},
    .make = make,
};

} // namespace ordo
