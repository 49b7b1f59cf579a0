// SPDX-License-Identifier: MIT
#include "encoding/base/walk.h"

#include "core/error.h"
#include "core/tensor.h"
#include "kernels/kernels.h"

namespace ordo {

void check_walked(std::string_view name, int d_head) {
    if (d_head > most_walk_columns)
        fail(ErrorCode::usage, name, ": expected heads of at most ", most_walk_columns, " columns, found ", d_head);
}

bool walks_tiles(int d_head) {
    return d_head <= most_columns_together;
}

namespace {

// Calls use(walk, key, passed) for the walk to the earlier keys and for that to the later ones, if there are any, with
// the first key and the first token that it passes. A step away from the own token passes that token; a step towards
// later keys passes the token of the key.
template <class Use>
void for_walks(const Tile& tile, WalkState state, const Use& use) {
    const int own = tile.first_query - tile.first_key;
    for (const int direction : {-1, 1}) {
        const int n = direction < 0 ? own : tile.k.rows - 1 - own;
        if (n <= 0) continue;
        const int key = own + direction, passed = direction < 0 ? own : key;
        const float* token = tile.key_state.row(passed);
        use(Walk{.n = n,
                 .e = tile.q.cols,
                 .scale = tile.scale,
                 .token = token + state.first,
                 .factor = state.factor < 0 ? nullptr : token + state.factor,
                 .token_stride = direction * tile.key_state.stride,
                 .q = tile.q.row(0),
                 .k = tile.k.row(key),
                 .k_stride = direction * tile.k.stride,
                 .direction = direction,
                 .first_alone = direction < 0 && tile.first_query % 2 == 1},
            key, passed);
    }
}

} // namespace

void walk(View scores, const Tile& tile, WalkState state) {
    if (tile.q.rows > 1) {
        const float* token = tile.key_state.data;
        kernels().walks({.queries = tile.q.rows,
                         .own = tile.first_query - tile.first_key,
                         .e = tile.q.cols,
                         .first_token = tile.first_key,
                         .scale = tile.scale,
                         .token = token + state.first,
                         .factor = state.factor < 0 ? nullptr : token + state.factor,
                         .token_stride = tile.key_state.stride,
                         .q = tile.q.data,
                         .q_stride = tile.q.stride,
                         .k = tile.k.data,
                         .k_stride = tile.k.stride,
                         .scores = scores.data,
                         .scores_stride = scores.stride});
        return;
    }
    for_walks(tile, state, [&](Walk walk, int key, int) {
        walk.scores = scores.row(0) + key;
        kernels().walk(walk);
    });
}

void walk_backward(View d_scores, const Tile& tile, const Gradients& gradient, WalkState state) {
    for_walks(tile, state, [&](Walk walk, int key, int passed) {
        Buffer<float> rows(static_cast<std::size_t>(walk.n) * static_cast<std::size_t>(walk.e), Contents::any);
        walk.rows = rows.data();
        kernels().walk(walk);
        float* token = gradient.key_state.row(passed);
        kernels().walk_backward(walk, {.scores = d_scores.row(0) + key,
                                       .q = gradient.q.row(0),
                                       .k = gradient.k.row(key),
                                       .k_stride = walk.direction * gradient.k.stride,
                                       .token = token + state.first,
                                       .factor = state.factor < 0 ? nullptr : token + state.factor,
                                       .token_stride = walk.direction * gradient.key_state.stride});
    });
}

} // namespace ordo
