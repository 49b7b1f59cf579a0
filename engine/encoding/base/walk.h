// SPDX-License-Identifier: MIT
// A query that walks from its own token to each of its keys, and is changed by every token on its way (Walk in
// kernels.h), so that a plain score scale q_i . k_j becomes scale r_j . k_j. The difference is added, and the biases of
// other encodings stay. Of two tokens, the later one and the tokens between them act. A query that sees later keys
// walks to them as well.
#pragma once

#include "rows.h"

#include <string_view>

namespace ordo {

// The part of a token's state that changes a row of d_head columns r: r -= factor (r . x) x for x from column `first`
// on and the factor in its own column, or r -= r * x for each column if there is none.
struct WalkState {
    int first;
    int factor = -1;
};

// Whether walk() takes tiles of several queries.
bool walks_tiles(int d_head);
// Throws Error(usage) for heads with more columns than a walk takes.
void check_walked(std::string_view name, int d_head);
// For RESCORE. The encoding reads queries, keys and states.
void walk(View scores, const Tile& tile, WalkState state);
// The tile has one query. Leaves d_scores as it is.
void walk_backward(View d_scores, const Tile& tile, const Gradients& gradient, WalkState state);

} // namespace ordo
