// SPDX-License-Identifier: MIT
// KERPLE, kernelised relative positions: a score falls with the distance by a conditionally positive definite kernel
// whose two parameters each head learns.
//   log:    score(i, j) -= a ln(1 + b D)      D = |p_i - p_j|
//   power:  score(i, j) -= a D^b              b = 1 is ALiBi
//   a = max(r1, 0.01), b = max(r2, 0.01), at most 2 for power;  r1, r2 [n_heads] of each layer
// Chi et al. 2022, arXiv 2205.09921; the bounds and the initial ranges are those of the authors' code. Outside its bounds a
// parameter has no gradient, so training starts inside.
#include "core/error.h"
#include "encoding/distance_table.h"
#include "encoding/layer_tensors.h"
#include "encoding/registry.h"
#include "encoding/table.h"

#include <cmath>
#include <cstdlib>

namespace ordo {
namespace {

constexpr double least = 0.01, most_power = 2;

class Kerple final : public Encoding {
public:
    Kerple(bool power, const Dims& dims)
        : power_(power), n_heads_(dims.n_heads), mask_(dims.mask), tensors_(dims),
          table_(dims.layer_count() * dims.n_heads, dims.mask == Mask::bidirectional,
                 [this](int row, std::int64_t distance) {
                     return static_cast<float>(value(row / n_heads_, row % n_heads_, distance));
                 }) {}

    std::string spec() const override { return SpecWriter("kerple")("kernel", power_ ? "power" : "log").text(); }
    unsigned moments() const override { return moment_bias; }

    std::vector<TensorSpec> tensors() const override {
        const auto parameter = [this](const char* name, float most) {
            return TensorSpec{.name = name,
                              .shape = {n_heads_},
                              .initial = InitialValues::uniform(static_cast<float>(least), most),
                              .per_layer = true};
        };
        return {parameter("r1", power_ ? 1 : 2), parameter("r2", power_ ? 2 : 1)};
    }
    void bind(int layer, std::span<const View> tensors) override { tensors_.bind(layer, tensors); }
    void prepare(int n_positions) override {
        if (tensors_.bound()) table_.prepare(n_positions);
    }

    void bias(View scores, const Tile& tile) const override {
        table_.add(scores, tensors_.slot(tile.layer) * n_heads_ + tile.head, tile);
    }
    // By a: -ln(1 + b D), or -D^b; by b: -a D / (1 + b D), or -a D^b ln D.
    void bias_backward(View d_scores, const Tile& tile, const TileGradient& gradient) const override {
        const Kernel k = kernel(tensors_.slot(tile.layer), tile.head);
        double da = 0, db = 0;
        sum_by_distance(d_scores, tile, [&](std::int64_t distance, float sum) {
            const double D = static_cast<double>(std::abs(distance)), d = static_cast<double>(sum);
            if (D == 0) return;
            if (power_) {
                const double raised = std::pow(D, k.b);
                da -= d * raised;
                db -= d * k.a * raised * std::log(D);
            } else {
                da -= d * std::log1p(k.b * D);
                db -= d * k.a * D / (1 + k.b * D);
            }
        });
        if (k.a_moves) gradient.tensors[0].row(0)[tile.head] += static_cast<float>(da);
        if (k.b_moves) gradient.tensors[1].row(0)[tile.head] += static_cast<float>(db);
    }

    Operations operations(Moment moment, const Work& work) const override {
        return {.others = moment == moment_bias ? work.pairs : 0};
    }

    // table: the bias of one head [length, length]. parameters: a and b of all heads.
    std::vector<std::string> table_parts() const override { return {"table", "parameters"}; }
    TableRows table_rows(const TableRequest& request) const override {
        const std::string part = checked_part(*this, request);
        tensors_.requested(*this, request);
        const int slot = tensors_.slot(request.layer);
        if (part == "parameters")
            return make_table({"head", "a", "b"}, n_heads_, [this, slot](std::int64_t head, std::span<double> out) {
                const Kernel k = kernel(slot, static_cast<int>(head));
                out[0] = static_cast<double>(head);
                out[1] = k.a;
                out[2] = k.b;
            });
        check_table_head(*this, n_heads_, request);
        return make_bias_matrix(request, mask_, [this, slot, head = request.head](int query, int key) {
            return value(slot, head, std::int64_t{query} - key);
        });
    }

private:
    struct Kernel {
        double a, b;
        bool a_moves, b_moves; // within their bounds
    };
    Kernel kernel(int slot, int head) const {
        const std::span<const View> tensors = tensors_.of_slot(slot);
        const double r1 = static_cast<double>(tensors[0].row(0)[head]);
        const double r2 = static_cast<double>(tensors[1].row(0)[head]);
        const double most_b = power_ ? most_power : HUGE_VAL;
        return {std::max(r1, least), std::min(std::max(r2, least), most_b), r1 > least, r2 > least && r2 < most_b};
    }
    double value(int slot, int head, std::int64_t distance) const {
        const Kernel k = kernel(slot, head);
        const double D = static_cast<double>(std::abs(distance));
        return 0 - k.a * (power_ ? std::pow(D, k.b) : std::log1p(k.b * D));
    }

    bool power_;
    int n_heads_;
    Mask mask_;
    LayerTensors tensors_; // r1, r2 [1, n_heads]
    DistanceTable table_;  // of each slot's heads
};

std::unique_ptr<Encoding> make(const SpecItem& item, const Dims& dims) {
    return std::make_unique<Kerple>(item.choice("kernel", "log", {"log", "power"}) == "power", dims);
}

} // namespace

extern const EncodingInfo kerple_encoding;
const EncodingInfo kerple_encoding = {
    .name = "kerple",
    .summary = "lowers scores by a kernel of the distance that each head learns",
    .paper = "Chi et al. 2022, arXiv 2205.09921",
    .formula = "log:   score(i, j) = q_i . k_j * scale - a ln(1 + b |p_i - p_j|)\n"
               "power: score(i, j) = q_i . k_j * scale - a |p_i - p_j|^b\n"
               "a = max(r1, 0.01), b = max(r2, 0.01), for power at most 2; r1 and r2 of each layer and head",
    .moments = moment_bias,
    .shift_invariant = true,
    .trainable = true,
    .parameters = {{"kernel", "log", "log or power"}},
    .make = make,
};

} // namespace ordo
