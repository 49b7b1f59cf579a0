// SPDX-License-Identifier: MIT
// Sums over rows in fixed blocks, so that their bits do not depend on the number of threads.
#pragma once

#include "core/parallel.h"
#include "core/tensor.h"
#include "kernels/kernels.h"

#include <algorithm>

namespace ordo {

// out [1, cols] += the sum over rows of what add_row(row, partial) adds to a zeroed partial [cols].
template <class AddRow>
void sum_rows(int rows, View out, const AddRow& add_row) {
    constexpr int block_rows = 256; // of a partial sum
    const int blocks = (rows + block_rows - 1) / block_rows;
    Tensor partial(blocks, out.cols);
    parallel_for(blocks, 1, [&](std::ptrdiff_t b) {
        const int first = static_cast<int>(b) * block_rows;
        float* sum = partial.view().row(static_cast<int>(b));
        for (int i = first; i < std::min(rows, first + block_rows); ++i) add_row(i, sum);
    });
    for (int b = 0; b < blocks; ++b) kernels().add(out.cols, partial.view().row(b), out.data);
}

} // namespace ordo
