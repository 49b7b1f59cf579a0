// SPDX-License-Identifier: MIT
// Sandwich: the scalar product of two sinusoidal positions, which falls with their distance, as a bias; nothing is trained.
//   score(i, j) += (sum_{k=1..width/2} cos(D w_k) - width/2) / c_h,  w_k = 10000^(-2k/width),  D = |p_i - p_j|
//   c_h = scale (h + 1) / n_heads, h = 0 .. n_heads - 1
// The constant makes it 0 at D = 0, and changes no softmax. Chi et al. 2023, arXiv 2212.10356; NeMo's code.
#include "core/error.h"
#include "encoding/distance_table.h"
#include "encoding/layer_tensors.h"
#include "encoding/registry.h"
#include "encoding/table.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace ordo {
namespace {

constexpr int most_wide = 1 << 15;             // more than any model has
constexpr int most_prepared = 1 << 20;         // distances
constexpr int most_prepared_cosines = 1 << 27; // that these take

class Sandwich final : public Encoding {
public:
    Sandwich(double scale, int width, const Dims& dims)
        : scale_(scale), width_(width), n_heads_(dims.n_heads), mask_(dims.mask),
          table_(dims.n_heads, dims.mask == Mask::bidirectional,
                 [this](int head, std::int64_t distance) { return static_cast<float>(value(head, distance)); }) {}

    std::string spec() const override { return SpecWriter("sandwich")("scale", scale_)("width", width_).text(); }
    unsigned moments() const override { return moment_bias; }

    void prepare(int n_positions) override {
        const int most = std::min({n_positions, most_prepared, most_prepared_cosines / (width_ / 2)});
        std::vector<double> frequencies;
        for (int k = 1; k <= width_ / 2; ++k) frequencies.push_back(frequency(k));
        for (int d = static_cast<int>(sums_.size()); d < most; ++d)
            sums_.push_back(sum(d, [&](int k) { return frequencies[static_cast<std::size_t>(k - 1)]; }));
        table_.prepare(most);
    }
    void bias(View scores, const Tile& tile) const override { table_.add(scores, tile.head, tile); }

    Operations operations(Moment moment, const Work& work) const override {
        return {.others = moment == moment_bias ? work.pairs : 0};
    }

    // table: the bias of one head [length, length]. scales: c of all heads.
    std::vector<std::string> table_parts() const override { return {"table", "scales"}; }
    TableRows table_rows(const TableRequest& request) const override {
        const std::string part = checked_part(*this, request);
        if (part == "scales")
            return make_table({"head", "scale"}, n_heads_, [this](std::int64_t head, std::span<double> out) {
                out[0] = static_cast<double>(head);
                out[1] = head_scale(static_cast<int>(head));
            });
        check_table_head(*this, n_heads_, request);
        return make_bias_matrix(request, mask_, [this, head = request.head](int query, int key) {
            return value(head, std::int64_t{query} - key);
        });
    }

private:
    double head_scale(int head) const { return scale_ * (head + 1) / n_heads_; }
    double frequency(int k) const { return std::pow(10000.0, -2.0 * k / width_); }
    template <class Frequency>
    double sum(std::int64_t distance, const Frequency& of) const {
        double total = 0;
        for (int k = 1; k <= width_ / 2; ++k) total += std::cos(static_cast<double>(distance) * of(k)) - 1;
        return total;
    }
    double value(int head, std::int64_t distance) const {
        const auto d = static_cast<std::size_t>(std::abs(distance));
        const auto computed = [&] { return sum(std::abs(distance), [this](int k) { return frequency(k); }); };
        return (d < sums_.size() ? sums_[d] : computed()) / head_scale(head);
    }

    double scale_;
    int width_, n_heads_;
    Mask mask_;
    std::vector<double> sums_; // of the first distances, the same for all heads
    DistanceTable table_;      // of each head
};

std::unique_ptr<Encoding> make(const SpecItem& item, const Dims& dims) {
    const double scale = item.number("scale", 8, 0.001, 1e6);
    const int width = item.integer("width", std::clamp(dims.d_model / 2 * 2, 2, most_wide), 2, most_wide);
    if (width % 2 != 0) fail(ErrorCode::usage, "sandwich: width: expected an even number, found ", width);
    return std::make_unique<Sandwich>(scale, width, dims);
}

} // namespace

extern const EncodingInfo sandwich_encoding;
const EncodingInfo sandwich_encoding = {
    .name = "sandwich",
    .summary = "lowers scores as the product of two sinusoidal positions falls with their distance",
    .paper = "Chi et al. 2023, arXiv 2212.10356",
    .formula = "score(i, j) = q_i . k_j * scale + (sum_{k=1..width/2} cos(D w_k) - width/2) / c_h\n"
               "w_k = 10000^(-2k/width),  D = |p_i - p_j|,  c_h = scale (h + 1) / n_heads",
    .moments = moment_bias,
    .shift_invariant = true,
    .trainable = false,
    .parameters = {{"scale", "8", "what the last head's bias is divided by; that of head h by (h + 1) / n_heads of it"},
                   {"width", "d_model", "of the sinusoidal positions, even"}},
    .make = make,
};

} // namespace ordo
