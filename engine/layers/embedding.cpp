// SPDX-License-Identifier: MIT
#include "layers/embedding.h"

#include "core/parallel.h"
#include "kernels/kernels.h"

#include <algorithm>

namespace ordo {

void embed_tokens(std::span<const Token> tokens, const Matrix& table, float scale, View x) {
    parallel_for(x.rows, std::max(1, 65536 / x.cols), [&](std::ptrdiff_t i) {
        float* row = x.row(static_cast<int>(i));
        table.row(tokens[static_cast<std::size_t>(i)], row);
        if (scale != 1) kernels().scale(x.cols, scale, row);
    });
}

} // namespace ordo
