// SPDX-License-Identifier: MIT
#include "encoding/base/projection.h"

#include "core/parallel.h"
#include "kernels/kernels.h"

#include <algorithm>

namespace ordo {

void project(View x, View weight, View z) {
    constexpr int strip = 16;
    parallel_for((x.rows + strip - 1) / strip, 1, [&](std::ptrdiff_t i) {
        const int first = static_cast<int>(i) * strip;
        kernels().dots(std::min(strip, x.rows - first), weight.rows, weight.cols, weight.data, weight.stride,
                       x.row(first), x.stride, z.row(first), z.stride);
    });
}

// d W += dz^T x;  dx += dz W. The strips do not depend on the threads.
void projection_backward(View dz, int step, View x, View weight, View d_weight, View dx) {
    constexpr int strip = 64;
    const int outputs = dz.cols / step;
    parallel_for((x.cols + strip - 1) / strip, 1, [&](std::ptrdiff_t i) {
        const int first = static_cast<int>(i) * strip;
        kernels().product(outputs, std::min(strip, x.cols - first), x.rows, 1, dz.data, step, dz.stride, x.data + first,
                          x.stride, 1, d_weight.data + first, d_weight.stride);
    });
    parallel_for((x.rows + strip - 1) / strip, 1, [&](std::ptrdiff_t i) {
        const int first = static_cast<int>(i) * strip;
        kernels().product(std::min(strip, x.rows - first), x.cols, outputs, 1, dz.row(first), dz.stride, step,
                          weight.data, weight.stride, 1, dx.row(first), dx.stride);
    });
}

} // namespace ordo
