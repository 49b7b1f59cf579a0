// SPDX-License-Identifier: MIT
#include "layers/embedding.h"

#include "core/parallel.h"

#include <algorithm>

namespace ordo {

void embed_tokens(std::span<const Token> tokens, View table, float scale, View x) {
    parallel_for(x.rows, std::max(1, 65536 / x.cols), [&](std::ptrdiff_t i) {
        const float* row = table.row(tokens[static_cast<std::size_t>(i)]);
        std::transform(row, row + x.cols, x.row(static_cast<int>(i)), [scale](float v) { return scale * v; });
    });
}

} // namespace ordo
