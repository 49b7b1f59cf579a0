// SPDX-License-Identifier: MIT
#include "encoding/base/row_table.h"

#include "core/parallel.h"

#include <algorithm>
#include <cassert>

namespace ordo {

void RowTable::embed(View x, const TokenRows& rows) const {
    const View weight = tensor(0, 0);
    const std::ptrdiff_t grain = std::max(1, (1 << 15) / x.cols);
    parallel_for(x.rows, grain, [&](std::ptrdiff_t i) {
        float* to = x.row(static_cast<int>(i));
        const int row = row_of(rows, static_cast<std::size_t>(i));
        assert(row >= 0 && row < weight.rows); // limits() keeps larger rows out
        const float* from = weight.row(row);
        for (int j = 0; j < x.cols; ++j) to[j] += from[j];
    });
}

// Tokens may share a row. Threads therefore split the columns, and each thread adds the tokens in order: the bits of a
// sum do not depend on the number of threads.
void RowTable::embed_backward(View dx, View, const TokenRows& rows, const Gradients& grads) const {
    constexpr int columns = 64;
    const int strips = (dx.cols + columns - 1) / columns;
    parallel_for(strips, dx.rows < 64 ? strips : 1, [&](std::ptrdiff_t strip) {
        const int first = static_cast<int>(strip) * columns;
        const int last = std::min(first + columns, dx.cols);
        for (int i = 0; i < dx.rows; ++i) {
            float* to = grads.tensors[0].row(row_of(rows, static_cast<std::size_t>(i)));
            const float* from = dx.row(i);
            for (int j = first; j < last; ++j) to[j] += from[j];
        }
    });
}

TableRows RowTable::shown(View weight, const TableRequest&) const {
    return rows_table(weight, 0, weight.rows);
}

std::vector<NamedTable> RowTable::tables() const {
    return {
        {"table", [this](const TableRequest& request) { return shown(tensor(requested_slot(request), 0), request); }}};
}

} // namespace ordo
