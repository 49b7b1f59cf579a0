// SPDX-License-Identifier: MIT
// Rows of a table, added to an embedding: what learned and segment share.
#pragma once

#include "core/parallel.h"

#include "ordo.h"

#include <algorithm>

namespace ordo {

// x [n, d] += weight[index(i)] for each row i.
template <class Index>
void add_rows(View x, View weight, const Index& index) {
    const std::ptrdiff_t grain = std::max(1, (1 << 15) / x.cols);
    parallel_for(x.rows, grain, [&](std::ptrdiff_t i) {
        float* to = x.row(static_cast<int>(i));
        const float* from = weight.row(index(i));
        for (int j = 0; j < x.cols; ++j) to[j] += from[j];
    });
}

// grad[index(i)] += dx [n, d] row i. Rows may share an index: threads split the columns, and each adds
// the rows in order, so that the sum's bits do not depend on their number.
template <class Index>
void add_rows_backward(View dx, View grad, const Index& index) {
    constexpr int columns = 64;
    const int strips = (dx.cols + columns - 1) / columns;
    parallel_for(strips, dx.rows < 64 ? strips : 1, [&](std::ptrdiff_t strip) {
        const int first = static_cast<int>(strip) * columns;
        const int last = std::min(first + columns, dx.cols);
        for (int i = 0; i < dx.rows; ++i) {
            float* to = grad.row(index(i));
            const float* from = dx.row(i);
            for (int j = first; j < last; ++j) to[j] += from[j];
        }
    });
}

// weight's rows, for people to look at.
TableRows rows_table(View weight, int first, int count);

} // namespace ordo
