// SPDX-License-Identifier: MIT
// What stands between the final norm and the head's matrix: a transform, and a scale (model/blueprint.h).
#pragma once

#include "model/model.h"
#include "training/parameters.h"

namespace ordo {

class BeforeHead {
public:
    BeforeHead(const Blueprint& blueprint, const Weights& weights, Parameters& parameters, int rows);
    static double floats(const Blueprint& blueprint, double rows);

    // What the head's matrix reads of rows after the final norm, [n, d]: those rows themselves where nothing stands between.
    View forward(View final);
    // d [n, d]: the gradient of what forward() gave, in place that of `final`. The gradients of the transform are added to.
    void backward(View final, View d);

private:
    const Blueprint& blueprint_;
    const Weights& weights_;
    LinearGradient d_transform_;
    NormWeights d_norm_;
    Tensor dense_, active_, out_, d_dense_; // [rows, d], of those that there are
    RowScratch scratch_;
};

} // namespace ordo
