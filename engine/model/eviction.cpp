// SPDX-License-Identifier: MIT
// Sequence::evict().
#include "core/error.h"
#include "core/number.h"
#include "kernels/kernels.h"
#include "model/sequence.h"

#include <algorithm>
#include <cmath>

namespace ordo {
namespace {

// The weights of the norm after the rotation of a layer's keys [1, d_head]; no data if it has none.
View key_weights(const Stack& model, int layer) {
    const Program& program = model.program.layer(layer);
    if (program.plan.qk_norm != QkNorm::rotated) return {};
    const auto step =
        std::find_if(program.steps.begin(), program.steps.end(), [](const Step& s) { return s.op == Op::attention; });
    return model.weights.layers[static_cast<std::size_t>(layer)]
        .norms[static_cast<std::size_t>(step->weight) + 1]
        .weight;
}

// Moves a head's key without its weights, and leaves its length, which xPos changes.
template <class Move>
void move_normalised(View key, View weights, const Move& move) {
    const auto square = [&] { return kernels().dot(key.cols, key.data, key.data); };
    for (int j = 0; j < key.cols; ++j) key.data[j] /= weights.data[j];
    const float before = square();
    move();
    const float after = square(), factor = after > 0 ? std::sqrt(before / after) : 1;
    for (int j = 0; j < key.cols; ++j) key.data[j] *= weights.data[j] * factor;
}

} // namespace

bool Sequence::can_evict() const {
    if (model->blueprint.bidirectional() || axes != 1) return false;
    for (int layer = 0; layer < model->blueprint.n_layers; ++layer) {
        const View weights = key_weights(*model, layer); // a column with 0 has lost its part of the rotation
        if (!encodings->layer(layer).can_move_keys() || std::count(weights.data, weights.data + weights.cols, 0.0f) > 0)
            return false;
    }
    return true;
}

// The move of the tokens after the evicted ones: the first of them takes the position of the first evicted token.
int Sequence::moved_by(int first, int count) const {
    if (first + count == size) return 0; // no tokens follow
    const Positions ids = cache.positions(0, size);
    const int from = ids[first], to = ids[first + count];
    const std::int64_t by = std::int64_t{to} - from;
    int least = to;
    for (int slot = first + count; slot < size; ++slot) least = std::min(least, ids[slot]);
    if (by < 0 || by > least)
        fail(ErrorCode::usage, what, ": evict: expected positions that rise, found ", from, " and later ",
             by < 0 ? to : least);
    return static_cast<int>(by);
}

void Sequence::evict(int first, int count) {
    if (first < 0 || count < 0 || first > size || count > size - first)
        fail(ErrorCode::limit, what, ": evict: expected some of ", size, " tokens, found ", count, " from ", first,
             " on");
    if (!can_evict())
        fail(ErrorCode::usage, what, ": evict: ", printable(encodings->spec()),
             ": expected a causal model whose cached keys can be moved, and positions of one axis");
    if (count == 0) return;
    const int by = moved_by(first, count), width = model->blueprint.n_kv_heads * model->blueprint.d_head;
    Tensor keys, values;
    int layer = 0;
    std::function<void(View, int)> turn;
    try { // allocates everything before anything moves
        keys = Tensor(KvCache::slab, width);
        values = Tensor(KvCache::slab, width);
        turn = [&](View k, int slot) {
            const LayerEncodings& of = encodings->layer(layer);
            const int kv_heads = model->blueprint.n_kv_heads;
            const View weights = key_weights(*model, layer);
            if (!weights.data)
                return of.move_keys(k, {layer, 0, kv_heads, Role::key, cache.positions(slot, k.rows)}, by);
            for (int i = 0; i < k.rows * kv_heads; ++i) {
                const int row = i / kv_heads, head = i % kv_heads;
                const View key = cols_of(rows_of(k, row, 1), head * weights.cols, weights.cols);
                move_normalised(key, weights, [&] {
                    of.move_keys(key, {layer, head, 1, Role::key, cache.positions(slot + row, 1)}, by);
                });
            }
        };
    } catch (const std::bad_alloc&) {
        fail(ErrorCode::limit, what, ": evict: not enough memory");
    }
    for (; layer < model->blueprint.n_layers; ++layer)
        cache.evict(layer, first, count, size, keys.view(), values.view(), turn);
    for (layer = 0; layer < model->blueprint.n_layers; ++layer)
        if (const View all = cache.state(layer, 0, size); all.data && first + count < size)
            std::copy(all.row(first + count), all.row(size - 1) + all.cols, all.row(first));
    for (int slot = first + count; slot < size; ++slot) {
        const int id = cache.positions(slot, 1)[0] - by;
        cache.set_position(slot - count, {&id, 1});
        const IdView derived = cache.derived(slot, 1);
        std::copy_n(derived.data, derived.cols, cache.derived(slot - count, 1).data);
    }
    if (!changes_.empty()) {
        std::copy(cached_tokens_.begin() + first + count, cached_tokens_.begin() + size,
                  cached_tokens_.begin() + first);
        std::copy(cached_segments_.begin() + first + count, cached_segments_.begin() + size,
                  cached_segments_.begin() + first);
        least_ = now_;
    }
    size -= count;
}

} // namespace ordo
