// SPDX-License-Identifier: MIT
// Sums over rows in fixed strips, so that their bits do not depend on the number of threads.
#pragma once

#include "core/parallel.h"
#include "core/tensor.h"
#include "kernels/kernels.h"

#include <algorithm>

namespace ordo {

// out [1, cols] += the sum over rows. add_row(row, partial) adds a row to partial [cols], which starts at zero.
template <class AddRow>
void sum_rows(int rows, View out, const AddRow& add_row) {
    constexpr int strip_rows = 256; // rows of a partial sum
    const int strips = (rows + strip_rows - 1) / strip_rows;
    Tensor partial(strips, out.cols);
    parallel_for(strips, 1, [&](std::ptrdiff_t b) {
        const int first = static_cast<int>(b) * strip_rows;
        float* sum = partial.view().row(static_cast<int>(b));
        for (int i = first; i < std::min(rows, first + strip_rows); ++i) add_row(i, sum);
    });
    for (int b = 0; b < strips; ++b) kernels().add(out.cols, partial.view().row(b), out.data);
}

} // namespace ordo
