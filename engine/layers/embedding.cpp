// SPDX-License-Identifier: MIT
#include "layers/embedding.h"

#include "core/parallel.h"
#include "core/tensor.h"
#include "kernels/kernels.h"

#include <algorithm>

namespace ordo {

void embed_tokens(std::span<const Token> tokens, const Matrix& table, float scale, View x) {
    parallel_for(x.rows, std::max(1, 65536 / x.cols), [&](std::ptrdiff_t i) {
        float* row = x.row(static_cast<int>(i));
        table.row(tokens[i], row);
        if (scale != 1) kernels().scale(x.cols, scale, row);
    });
}

void embed_rows(const ModelEncodings& encodings, std::size_t item, const TokenRows& rows, View from, View to) {
    constexpr int rows_at_once = 16;
    parallel_for((to.rows + rows_at_once - 1) / rows_at_once, std::max(1, 8192 / (rows_at_once * to.cols)),
                 [&](std::ptrdiff_t i) {
                     const int first = static_cast<int>(i) * rows_at_once,
                               count = std::min(rows_at_once, to.rows - first);
                     const auto at = static_cast<std::size_t>(first), some = static_cast<std::size_t>(count);
                     if (from.data != to.data)
                         for (int row = first; row < first + count; ++row)
                             std::copy_n(from.row(row), from.cols, to.row(row));
                     encodings.embed(item, rows_of(to, first, count),
                                     {rows.positions.subspan(at, some),
                                      rows.segments.empty() ? rows.segments : rows.segments.subspan(at, some)});
                 });
}

} // namespace ordo
