// SPDX-License-Identifier: MIT
#include "encoding/base/walk.h"

#include "core/error.h"
#include "core/tensor.h"
#include "encoding/base/layer_encodings.h"
#include "kernels/kernels.h"

#include <algorithm>

namespace ordo {
namespace {

static_assert(LayerEncodings::rescored_at_once <= most_walk_queries);

// The steps [first, last] of some queries in one direction. A step has the number direction * (the token that it
// passes). Even steps are computed together with the next one, by each query alone and by several together.
struct Steps {
    int first, last;
    int count() const { return std::max(0, last - first + 1); }
};

struct Rows {
    std::span<const Tile> tiles;
    WalkState state;

    // A step away from the own token passes that token; a step towards later keys passes the token of the key.
    Steps steps(int direction, int i) const {
        const Tile& t = tiles[static_cast<std::size_t>(i)];
        if (direction < 0) return {-t.first_query, -t.first_key - 1};
        return {t.first_query + 1, t.first_key + t.k.rows - 1};
    }
    // The steps that all take.
    Steps together(int direction) const {
        Steps common = steps(direction, 0);
        for (int i = 1; i < static_cast<int>(tiles.size()); ++i) {
            const Steps own = steps(direction, i);
            common = {std::max(common.first, own.first), std::min(common.last, own.last)};
        }
        return {common.first + (common.first & 1), common.last - (~common.last & 1)};
    }
    // Calls use(steps, first query, queries) for the walks of one direction: of each query to the others, of all of
    // them, and of each to its last key.
    template <class Use>
    void for_walks(int direction, const Use& use) const {
        const int n = static_cast<int>(tiles.size());
        const Steps common = together(direction);
        if (n == 1 || common.count() == 0) {
            for (int i = 0; i < n; ++i) use(steps(direction, i), i, 1);
            return;
        }
        for (int i = 0; i < n; ++i) use(Steps{steps(direction, i).first, common.first - 1}, i, 1);
        use(common, 0, n);
        for (int i = 0; i < n; ++i) use(Steps{common.last + 1, steps(direction, i).last}, i, 1);
    }
    static int key(int direction, int step) { return direction < 0 ? -step - 1 : step; }

    Walk walk(int direction, Steps steps, int first, int queries) const {
        const Tile& t = tiles[static_cast<std::size_t>(first)];
        const float* token = t.key_state.row(direction * steps.first - t.first_key);
        return {.n = steps.count(),
                .e = t.q.cols,
                .single = (steps.first & 1) != 0,
                .scale = t.scale,
                .token = token + state.first,
                .factor = state.factor < 0 ? nullptr : token + state.factor,
                .token_stride = direction * t.key_state.stride,
                .k = t.k.row(key(direction, steps.first) - t.first_key),
                .k_stride = direction * t.k.stride,
                .direction = direction,
                .queries = queries};
    }
};

} // namespace

void WalkingEncoding::ready() {
    if (dims().d_head > most_walk_columns)
        fail(ErrorCode::usage, name(), ": expected heads of at most ", most_walk_columns, " columns, found ",
             dims().d_head);
}

void WalkingEncoding::rescore_rows(std::span<const View> scores, std::span<const Tile> rows) const {
    const Rows all{rows, walk_state(rows.front().head)};
    const int e = dims().d_head;
    float r[most_walk_queries][most_walk_columns];
    for (const int direction : {-1, 1}) {
        for (std::size_t i = 0; i < rows.size(); ++i) std::copy_n(rows[i].q.row(0), e, r[i]);
        all.for_walks(direction, [&](Steps steps, int first, int queries) {
            if (steps.count() == 0) return;
            Walk walk = all.walk(direction, steps, first, queries);
            for (int i = 0; i < queries; ++i) {
                const auto at = static_cast<std::size_t>(first + i);
                walk.query[i] = {rows[at].q.row(0), r[at],
                                 scores[at].row(0) + Rows::key(direction, steps.first) - rows[at].first_key};
            }
            kernels().walk(walk);
        });
    }
}

void WalkingEncoding::rescore_rows_backward(std::span<const View> d_scores, std::span<const Tile> rows,
                                            std::span<const Gradients> gradients) const {
    const Rows all{rows, walk_state(rows.front().head)};
    const int e = dims().d_head;
    for (const int direction : {-1, 1}) {
        std::vector<Buffer<float>> kept; // the rows of each query: before each step, and at the end
        float r[most_walk_queries][most_walk_columns];
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const int n = all.steps(direction, static_cast<int>(i)).count();
            kept.emplace_back(static_cast<std::size_t>(n + 1) * static_cast<std::size_t>(e), Contents::any);
            std::copy_n(rows[i].q.row(0), e, r[i]);
        }
        std::vector<std::pair<Walk, WalkGradient>> walks;
        all.for_walks(direction, [&](Steps steps, int first, int queries) {
            if (steps.count() == 0) return;
            Walk walk = all.walk(direction, steps, first, queries);
            const auto own = static_cast<std::size_t>(first);
            const Gradients& gradient = gradients[own];
            float* token = gradient.key_state.row(direction * steps.first - rows[own].first_key);
            const int key = Rows::key(direction, steps.first);
            WalkGradient g{.k = gradient.k.row(key - rows[own].first_key),
                           .k_stride = direction * gradient.k.stride,
                           .token = token + all.state.first,
                           .factor = all.state.factor < 0 ? nullptr : token + all.state.factor,
                           .token_stride = direction * gradient.key_state.stride};
            for (int i = 0; i < queries; ++i) {
                const auto at = static_cast<std::size_t>(first + i);
                const int before = steps.first - all.steps(direction, first + i).first;
                walk.query[i] = {rows[at].q.row(0), r[at], nullptr,
                                 kept[at].data() + static_cast<std::ptrdiff_t>(before) * e};
                g.query[i] = {d_scores[at].row(0) + key - rows[at].first_key, gradients[at].q.row(0), r[at]};
            }
            kernels().walk(walk);
            walks.emplace_back(walk, g);
        });
        for (auto& row : r) std::fill_n(row, e, 0.0f); // from here on the gradients of the rows
        for (std::size_t i = walks.size(); i-- > 0;) kernels().walk_backward(walks[i].first, walks[i].second);
        for (std::size_t i = 0; i < rows.size(); ++i) kernels().add(e, r[i], gradients[i].q.row(0));
    }
}

} // namespace ordo
