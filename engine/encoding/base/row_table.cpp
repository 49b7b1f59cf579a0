// SPDX-License-Identifier: MIT
#include "encoding/base/row_table.h"

#include "core/error.h"
#include "core/parallel.h"
#include "encoding/base/table.h"

#include <algorithm>

namespace ordo {

void RowTable::embed(View x, const TokenRows& rows) const {
    const std::ptrdiff_t grain = std::max(1, (1 << 15) / x.cols);
    parallel_for(x.rows, grain, [&](std::ptrdiff_t i) {
        float* to = x.row(static_cast<int>(i));
        const float* from = weight_.row(row_of(rows, static_cast<std::size_t>(i)));
        for (int j = 0; j < x.cols; ++j) to[j] += from[j];
    });
}

// Tokens may share a row: threads split the columns, and each adds the tokens in order, so that the bits of a sum do not
// depend on the number of threads.
void RowTable::embed_backward(View dx, View, const TokenRows& rows, std::span<const View> grads) const {
    constexpr int columns = 64;
    const int strips = (dx.cols + columns - 1) / columns;
    parallel_for(strips, dx.rows < 64 ? strips : 1, [&](std::ptrdiff_t strip) {
        const int first = static_cast<int>(strip) * columns;
        const int last = std::min(first + columns, dx.cols);
        for (int i = 0; i < dx.rows; ++i) {
            float* to = grads[0].row(row_of(rows, static_cast<std::size_t>(i)));
            const float* from = dx.row(i);
            for (int j = first; j < last; ++j) to[j] += from[j];
        }
    });
}

TableRows RowTable::shown(View weight, const TableRequest&) const {
    return rows_table(weight, 0, weight.rows);
}

TableRows RowTable::table_rows(const TableRequest& request) const {
    checked_part(*this, request);
    if (!weight_.data)
        fail(ErrorCode::usage, name(), ": the table is in the weights: expected a model file, found none");
    return shown(weight_, request);
}

} // namespace ordo
