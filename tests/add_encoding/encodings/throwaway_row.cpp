// SPDX-License-Identifier: MIT
// A throw-away encoding that changes whole rows of scores: s_j += tanh(s_j + s_(j+1) + ...) / 2, to the row's end.
#include "encoding/base/registered.h"

#include <cmath>

namespace ordo {

const EncodingInfo throwaway_row_encoding = {.name = "throwaway-row",
                                             .summary = "adds to each score what follows it in its row",
                                             .paper = "none",
                                             .formula = "s(i, j) += tanh(sum_{l >= j} s(i, l)) / 2",
                                             .make = throwaway_row_file::make};

namespace throwaway_row_file {

class ThrowawayRow final : public RegisteredEncoding {
public:
    using RegisteredEncoding::RegisteredEncoding;

    void rescore(View scores, const Tile&) const override {
        double rest = 0;
        for (int j = scores.cols - 1; j >= 0; --j) {
            rest += static_cast<double>(scores.row(0)[j]);
            scores.row(0)[j] += static_cast<float>(std::tanh(rest) / 2);
        }
    }
    // Score l occurs in the sums of all j <= l.
    void rescore_backward(View d_scores, View scores, const Tile&, const Gradients&) const override {
        if (d_scores.rows == 0) return;
        double rest = 0, d_rests = 0;
        for (int j = 0; j < scores.cols; ++j) rest += static_cast<double>(scores.row(0)[j]);
        for (int l = 0; l < scores.cols; ++l) {
            const double t = std::tanh(rest);
            d_rests += static_cast<double>(d_scores.row(0)[l]) * (1 - t * t) / 2;
            d_scores.row(0)[l] += static_cast<float>(d_rests);
            rest -= static_cast<double>(scores.row(0)[l]);
        }
    }
    Operations operations(Moment moment, const Work& work) const override {
        return {.others = moment == moment_rescore ? (operations_of_function + 3) * work.pairs : 0};
    }
};

std::unique_ptr<RegisteredEncoding> make(const Dims& dims) {
    return make_registered<ThrowawayRow>(dims);
}

} // namespace throwaway_row_file
} // namespace ordo
