// SPDX-License-Identifier: MIT
// What stands between the final norm and the head's matrix: a transform, a scale, a projection (model/blueprint.h).
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
    // Where the gradient of what forward() gave belongs: d [n, d], or memory of its own if that is of another width.
    View gradient(View d) { return blueprint_.embedding_width != 0 ? d_narrow_.view() : d; }
    // From there to that of `final`, in d [n, d]. The gradients of the weights are added to.
    void backward(View final, View d);

private:
    const Blueprint& blueprint_;
    const Weights& weights_;
    LinearGradient d_transform_, d_projection_;
    NormWeights d_norm_;
    Tensor dense_, active_, out_, d_dense_; // [rows, d], of those that there are
    Tensor narrow_, d_narrow_;              // [rows, embedding_width]
    RowScratch scratch_;
};

} // namespace ordo
