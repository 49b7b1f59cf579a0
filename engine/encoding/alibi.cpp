// SPDX-License-Identifier: MIT
// ALiBi, attention with linear biases: a score falls with the distance, at a slope of the head's own.
//   score(i, j) += -m_h |p_i - p_j|^power,  after the 1/sqrt(d_head) scale, which does not apply to the bias
//   m_h = 2^(-max (h+1)/n), h = 0 .. n-1, for n heads, a power of two
// For other n: the slopes of the power of two p below, then every other slope of 2p heads, which are
// 2^(-max (2(h-p)+1)/(2p)). Press, Smith and Lewis 2022, arXiv 2108.12409, and their code; max is MPT's
// alibi_bias_max. ALiBi has power = 1; others, up to 2, are KERPLE's power kernel (Chi et al. 2022, arXiv 2205.09921)
// with slopes that are not trained. The distance is taken of the integers: it stays exact at positions past 2^24.
#include "core/error.h"
#include "encoding/registry.h"
#include "encoding/table.h"
#include "kernels/kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace ordo {
namespace {

constexpr int most_prepared = 1 << 20; // distances

double slope(int head, int n_heads, double max) {
    const int p = static_cast<int>(std::bit_floor(static_cast<unsigned>(n_heads)));
    const double steps = head < p ? head + 1.0 : head - p + 0.5;
    return std::exp2(-max * steps / p);
}

class Alibi final : public Encoding {
public:
    Alibi(double max, double power, int n_heads) : max_(max), power_(power) {
        for (int h = 0; h < n_heads; ++h) slopes_.push_back(slope(h, n_heads, max));
    }

    std::string spec() const override { return SpecWriter("alibi")("max", max_)("power", power_).text(); }
    unsigned moments() const override { return moment_bias; }

    void prepare(int n_positions) override {
        if (power_ == 1) return;
        for (std::size_t d = powers_.size(); d < static_cast<std::size_t>(std::min(n_positions, most_prepared)); ++d)
            powers_.push_back(static_cast<float>(std::pow(static_cast<double>(d), power_)));
    }
    void bias(View scores, int, int head, Positions queries, Positions keys) const override {
        const float m = static_cast<float>(slopes_[static_cast<std::size_t>(head)]);
        for (int i = 0; i < scores.rows; ++i) {
            const int query = queries[static_cast<std::size_t>(i)];
            if (power_ == 1)
                kernels().subtract_distance(scores.cols, m, query, keys.data(), scores.row(i));
            else
                for (int j = 0; j < scores.cols; ++j)
                    scores.row(i)[j] -= m * raised(std::abs(std::int64_t{query} - keys[static_cast<std::size_t>(j)]));
        }
    }

    // table: the causal bias of one head [length, length]; what the mask hides is -inf. slopes: of all heads.
    std::vector<std::string> table_parts() const override { return {"table", "slopes"}; }
    TableRows table_rows(const TableRequest& request) const override {
        const std::string part = checked_part(*this, request);
        const int n_heads = static_cast<int>(slopes_.size());
        if (part == "slopes")
            return make_table({"head", "slope"}, n_heads, [this](std::int64_t head, std::span<double> out) {
                out[0] = static_cast<double>(head);
                out[1] = slopes_[static_cast<std::size_t>(head)];
            });
        if (request.head < 0 || request.head >= n_heads)
            fail(ErrorCode::usage, "alibi: table: head: expected 0 to ", n_heads - 1, ", found ", request.head);
        const double m = slopes_[static_cast<std::size_t>(request.head)];
        return make_matrix("key", request.start, request.length, request.length,
                           [m, power = power_](std::int64_t row, std::span<double> out) {
                               const auto i = static_cast<std::size_t>(row);
                               for (std::size_t j = 0; j < out.size(); ++j)
                                   out[j] = j > i ? -INFINITY : 0 - m * std::pow(static_cast<double>(i - j), power);
                           });
    }

private:
    float raised(std::int64_t distance) const {
        if (distance < static_cast<std::int64_t>(powers_.size())) return powers_[static_cast<std::size_t>(distance)];
        return static_cast<float>(std::pow(static_cast<double>(distance), power_));
    }

    double max_, power_;
    std::vector<double> slopes_; // of each head
    std::vector<float> powers_;  // of the first distances, unless power is 1
};

std::unique_ptr<Encoding> make(const SpecItem& item, const Dims& dims) {
    return std::make_unique<Alibi>(item.number("max", 8, 0, 64), item.number("power", 1, 0.01, 2), dims.n_heads);
}

} // namespace

extern const EncodingInfo alibi_encoding;
const EncodingInfo alibi_encoding = {
    .name = "alibi",
    .summary = "lowers scores with the distance, at a slope of each head's own",
    .paper = "Press et al. 2022, arXiv 2108.12409",
    .formula = "score(i, j) = q_i . k_j * scale - m_h |p_i - p_j|^power\n"
               "scale = 1/sqrt(d_head), or the model's own; the bias is not multiplied by it\n"
               "m_h = 2^(-max (h+1)/n) for head h of n, a power of two; in between as published",
    .moments = moment_bias,
    .shift_invariant = true,
    .trainable = false,
    .parameters = {{"max", "8", "the smallest slope of all heads is 2^-max"},
                   {"power", "1", "of the distance; 2 falls with its square"}},
    .make = make,
};

} // namespace ordo
