// SPDX-License-Identifier: MIT
// A throw-away encoding of positions that start again at each line break (token 10): score(i, j) -= a_h |c_i - c_j|,
// c: the tokens since the last line break. The count goes on from the ids of the token before.
#include "encoding/base/distance_bias.h"

namespace ordo {

const EncodingInfo throwaway_line_encoding = {.name = "throwaway-line",
                                              .summary = "a penalty for the difference of columns",
                                              .paper = "none",
                                              .formula = "score(i, j) -= a_h |c_i - c_j|, c = column in the line",
                                              .make = throwaway_line_file::make};

namespace throwaway_line_file {

class ThrowawayLine final : public DistanceBias {
public:
    using DistanceBias::DistanceBias;
    std::vector<TensorSpec> tensors() const override { return {per_head("slopes", InitialValues::uniform(0.05f, 1))}; }

    void positions(IdView ids, const TextRows& rows) const override {
        int column = rows.before ? *rows.before : 0;
        for (int i = 0; i < ids.rows; ++i) *ids.row(i) = column = rows.tokens[i] == line_break ? 0 : column + 1;
    }
    double value(int slot, int head, std::int64_t distance) const override {
        return -static_cast<double>(at(slot, 0, head)) * static_cast<double>(std::abs(distance));
    }
    void value_backward(int, int, std::int64_t distance, double d, std::span<double> sums) const override {
        sums[0] -= d * static_cast<double>(std::abs(distance));
    }

private:
    static constexpr Token line_break = 10;
};

std::unique_ptr<RegisteredEncoding> make(const Dims& dims) {
    return make_registered<ThrowawayLine>(dims);
}

} // namespace throwaway_line_file
} // namespace ordo
