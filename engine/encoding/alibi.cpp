// SPDX-License-Identifier: MIT
// ALiBi, attention with linear biases: a score falls with the distance, at a slope of the head's own.
//   score(i, j) += -m_h |p_i - p_j|,  after the 1/sqrt(d_head) scale, which does not apply to the bias
//   m_h = 2^(-max (h+1)/n), h = 0 .. n-1, for n heads, a power of two
// For other n: the slopes of the power of two p below, then every other slope of 2p heads, which are
// 2^(-max (2(h-p)+1)/(2p)). Press, Smith and Lewis 2022, arXiv 2108.12409, and their code; max is MPT's
// alibi_bias_max. The distance is taken of the integers: it stays exact at positions past 2^24.
#include "core/error.h"
#include "encoding/registry.h"
#include "encoding/table.h"
#include "kernels/kernels.h"

#include <bit>
#include <cmath>

namespace ordo {
namespace {

double slope(int head, int n_heads, double max) {
    const int p = static_cast<int>(std::bit_floor(static_cast<unsigned>(n_heads)));
    const double steps = head < p ? head + 1.0 : head - p + 0.5;
    return std::exp2(-max * steps / p);
}

class Alibi final : public Encoding {
public:
    Alibi(double max, int n_heads) : max_(max) {
        for (int h = 0; h < n_heads; ++h) slopes_.push_back(slope(h, n_heads, max));
    }

    std::string spec() const override { return SpecWriter("alibi")("max", max_).text(); }
    unsigned moments() const override { return moment_bias; }

    void bias(View scores, int, int head, Positions queries, Positions keys) const override {
        const float m = static_cast<float>(slopes_[static_cast<std::size_t>(head)]);
        for (int i = 0; i < scores.rows; ++i)
            kernels().subtract_distance(scores.cols, m, queries[static_cast<std::size_t>(i)], keys.data(),
                                        scores.row(i));
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
                           [m](std::int64_t row, std::span<double> out) {
                               const auto i = static_cast<std::size_t>(row);
                               for (std::size_t j = 0; j < out.size(); ++j)
                                   out[j] = j > i ? -INFINITY : 0 - m * static_cast<double>(i - j);
                           });
    }

private:
    double max_;
    std::vector<double> slopes_; // of each head
};

std::unique_ptr<Encoding> make(const SpecItem& item, const Dims& dims) {
    return std::make_unique<Alibi>(item.number("max", 8, 0, 64), dims.n_heads);
}

} // namespace

extern const EncodingInfo alibi_encoding;
const EncodingInfo alibi_encoding = {
    .name = "alibi",
    .summary = "lowers scores in proportion to the distance, at a slope of each head's own",
    .paper = "Press et al. 2022, arXiv 2108.12409",
    .formula = "score(i, j) = q_i . k_j * scale - m_h |p_i - p_j|\n"
               "m_h = 2^(-max (h+1)/n) for head h of n, a power of two; in between as published",
    .moments = moment_bias,
    .shift_invariant = true,
    .trainable = false,
    .parameters = {{"max", "8", "the smallest slope of all heads is 2^-max"}},
    .make = make,
};

} // namespace ordo
