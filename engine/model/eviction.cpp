// SPDX-License-Identifier: MIT
// Sequence::evict().
#include "core/error.h"
#include "core/number.h"
#include "model/sequence.h"

#include <algorithm>

namespace ordo {

bool Sequence::can_evict() const {
    if (model->blueprint.bidirectional() || axes != 1) return false;
    for (int layer = 0; layer < model->blueprint.n_layers; ++layer)
        if (!encodings->layer(layer).can_move_keys()) return false;
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
            const HeadRows rows{layer, 0, model->blueprint.n_kv_heads, Role::key, cache.positions(slot, k.rows)};
            encodings->layer(layer).move_keys(k, rows, by);
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
