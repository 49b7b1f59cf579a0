// SPDX-License-Identifier: MIT
#include "encoding/base/pieces.h"

#include <cmath>

namespace ordo {
namespace {

double number(View tensor, int row = 0, int col = 0) {
    return static_cast<double>(tensor.row(row)[col]);
}

} // namespace

void Pieces::build(const Network& network) {
    const auto [in_weight, in_bias, out_weight, out_bias] = network;
    const int n_heads = out_weight.rows, width = out_weight.cols;
    // The input at which a unit switches on or off; negative for a unit that does not switch at any x >= 0.
    const auto border = [in_weight = in_weight, in_bias = in_bias](int unit) {
        const double at = -number(in_bias, 0, unit) / number(in_weight, unit);
        return at > 0 && std::isfinite(at) ? at : -1;
    };
    borders_.clear();
    for (int w = 0; w < width; ++w)
        if (border(w) > 0) borders_.push_back(border(w));
    std::sort(borders_.begin(), borders_.end());

    ranges_.clear();
    for (int w = 0; w < width; ++w) {
        const double at = border(w), weight = number(in_weight, w), bias = number(in_bias, 0, w);
        const int all = last() + 1;
        if (at > 0)
            ranges_.push_back(weight > 0 ? Range{piece(at), all} : Range{0, piece(at)});
        else
            ranges_.push_back(bias > 0 || (bias == 0 && weight > 0) ? Range{0, all} : Range{0, 0});
    }
    lines_.assign(static_cast<std::size_t>(n_heads) * (borders_.size() + 1), {0, 0});
    for (int h = 0; h < n_heads; ++h)
        for (int p = 0; p <= last(); ++p) {
            Line& line = lines_[index(h, p)];
            line.offset = number(out_bias, 0, h);
            for (int w = 0; w < width; ++w) {
                if (p < first(w) || p >= end(w)) continue;
                line.slope += number(out_weight, h, w) * number(in_weight, w);
                line.offset += number(out_weight, h, w) * number(in_bias, 0, w);
            }
        }
}

} // namespace ordo
