// SPDX-License-Identifier: MIT
#include "encoding/base/layer_encodings.h"

#include "core/tensor.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace ordo {

View LayerEncodings::Item::own(View states) const {
    return states.data && state_floats > 0 ? cols_of(states, state_at, state_floats) : View{};
}

HeadRows LayerEncodings::Item::own(const HeadRows& rows) const {
    HeadRows shown = rows;
    shown.positions = own(rows.positions);
    shown.state = own(rows.state);
    return shown;
}

void LayerEncodings::add(Item item) {
    const Encoding& encoding = *item.encoding;
    for (const Role role : all_roles)
        if (item.moments & moment_rotate && encoding.rotates(role)) item.roles |= bit(role);
    for (const Place place : all_places)
        if (item.moments & moment_shift && encoding.shifts(place) && (place != Place::embedding || layer_ == 0))
            item.places |= bit(place);
    if (item.places != 0) shift_rows_ = std::max(shift_rows_, encoding.shift_rows());
    places_ |= item.places;
    item.scales_queries = encoding.scales_queries();
    item.keeps_state = ordo::keeps_state(encoding.reads());
    moments_ |= item.moments;
    backward_ |= item.backward;
    reads_ |= encoding.reads();
    roles_ |= item.roles;
    state_floats_ += item.state_floats;
    if (item.keeps_state) kept_floats_ += item.state_floats;
    items_.push_back(std::move(item));
}

// What OBSERVE writes and the cache keeps, then the inputs of SHIFT, then what the cache does not keep.
void LayerEncodings::arrange(const Dims& dims) {
    std::stable_partition(items_.begin(), items_.end(), [](const Item& item) { return !item.scales_queries; });
    observed_floats_ = kept_floats_;
    for (Item& item : items_)
        for (const Place place : all_places) {
            if (!(item.places & bit(place))) continue;
            const int kv_heads = dims.n_kv_heads > 0 ? dims.n_kv_heads : dims.n_heads;
            const int cols = place == Place::qkv ? (dims.n_heads + 2 * kv_heads) * dims.d_head : dims.d_model;
            item.inputs_at[static_cast<std::size_t>(place)] = std::exchange(kept_floats_, kept_floats_ + cols);
            state_floats_ += cols;
        }
    int kept = 0, others = kept_floats_;
    for (Item& item : items_) {
        int& next = item.keeps_state ? kept : others;
        item.state_at = std::exchange(next, next + item.state_floats);
    }
}

// A tile and its gradient, restricted to one encoding's columns of the state. Copied only where these are not all.
class LayerEncodings::Shown {
public:
    Shown(const LayerEncodings& all, const Item& item, const Tile& tile) : tile_(&tile) {
        if (item.state_floats == all.state_floats_ && item.id_axes == 0) return;
        own_ = tile;
        own_->queries = item.own(tile.queries);
        own_->keys = item.own(tile.keys);
        own_->query_state = item.own(tile.query_state);
        own_->key_state = item.own_keys(tile.key_state);
        tile_ = &*own_;
    }
    operator const Tile&() const { return *tile_; }

private:
    const Tile* tile_;
    std::optional<Tile> own_;
};

Gradients LayerEncodings::shown(const Item& item, const Gradients& gradient, std::span<const View> tensors) {
    return {gradient.q,
            gradient.k,
            item.own(gradient.query_state),
            item.own_keys(gradient.key_state),
            item.own(gradient.state),
            gradient.rescored,
            tensors};
}

void LayerEncodings::observe(View x, Positions positions, const float* before, View state) const {
    each(moment_observe, [&](const Item& item) {
        item.encoding->observe(x, layer_, item.own(positions),
                               before && item.keeps_state ? before + item.state_at : nullptr, item.own(state));
    });
}

ShiftRows LayerEncodings::shift_rows_of(const Item& item, Place place, View states, int cols, int rows) const {
    const View inputs = cols_of(states, item.inputs_at[static_cast<std::size_t>(place)], cols);
    const int before = std::min(inputs.rows - rows, item.encoding->shift_rows());
    return {place, layer_, before, rows_of(inputs, inputs.rows - rows - before, before + rows)};
}

void LayerEncodings::keep_inputs(int item, View x, Place place, View states) const {
    const ShiftRows rows = shift_rows_of(items_[item], place, states, x.cols, x.rows);
    for (int i = 0; i < x.rows; ++i) std::copy_n(x.row(i), x.cols, rows.inputs.row(rows.before + i));
}

void LayerEncodings::shift(int item, View x, Place place, View states) const {
    MomentTimer::call(timer_, moment_shift, [&] {
        items_[item].encoding->shift(x, shift_rows_of(items_[item], place, states, x.cols, x.rows));
    });
}

void LayerEncodings::shift_backward(int item, View dx, Place place, View states, std::span<const View> tensors) const {
    items_[item].encoding->shift_backward(dx, shift_rows_of(items_[item], place, states, dx.cols, dx.rows),
                                          {.tensors = tensors});
}

void LayerEncodings::rotate(View x, const HeadRows& rows) const {
    for (const Item& item : items_) {
        if (!(item.roles & bit(rows.role))) continue;
        MomentTimer::call(timer_, moment_rotate, [&] {
            if ((rows.state.data && item.state_floats != state_floats_) || item.id_axes != 0)
                item.encoding->rotate(x, item.own(rows));
            else
                item.encoding->rotate(x, rows);
        });
    }
}

bool LayerEncodings::can_move_keys() const {
    return std::all_of(items_.begin(), items_.end(), [](const Item& item) { return item.encoding->can_move_keys(); });
}

void LayerEncodings::move_keys(View keys, const HeadRows& rows, int by) const {
    for (const Item& item : items_)
        if (item.id_axes == 0) item.encoding->move_keys(keys, rows, by);
}

void LayerEncodings::bias(View scores, const Tile& tile) const {
    each(moment_bias, [&](const Item& item) { item.encoding->bias(scores, Shown(*this, item, tile)); });
}

bool LayerEncodings::all_that_act(Moment moment, bool (Encoding::*can)() const) const {
    return std::all_of(items_.begin(), items_.end(),
                       [&](const Item& item) { return !(item.moments & moment) || (item.encoding->*can)(); });
}

bool LayerEncodings::passes_rescored() const {
    constexpr unsigned both = moment_rescore | moment_sink;
    return std::any_of(items_.begin(), items_.end(), [](const Item& item) { return (item.moments & both) == both; });
}

void LayerEncodings::rescore(View scores, const Tile& tile) const {
    each(moment_rescore, [&](const Item& item) { item.encoding->rescore(scores, Shown(*this, item, tile)); });
}

void LayerEncodings::mix(View out, View weights, const Tile& tile) const {
    each(moment_mix, [&](const Item& item) { item.encoding->mix(out, weights, Shown(*this, item, tile)); });
}

float LayerEncodings::sink(const Tile& query) const {
    for (const Item& item : items_) // at most one encoding has a sink
        if (item.moments & moment_sink) return item.encoding->sink(Shown(*this, item, query));
    return -std::numeric_limits<float>::infinity();
}

Operations LayerEncodings::operations(Moment moment, const Work& work) const {
    Operations sum;
    for (const Item& item : items_) sum += item.encoding->operations(moment, work);
    return sum;
}

void LayerEncodings::observe_backward(View d_state, View x, Positions positions, View state, View dx,
                                      const TensorGradients& grads) const {
    for (std::size_t i = 0; i < items_.size(); ++i) {
        const Item& item = items_[i];
        if (item.moments & moment_observe)
            item.encoding->observe_backward(item.own(d_state), x, layer_, item.own(positions), item.own(state), dx,
                                            {.tensors = grads[i]});
    }
}

// From the last encoding to the first. x becomes the output of each: a factor of the queries is divided out again,
// where it is not 0.
void LayerEncodings::rotate_backward(View dx, View x, const HeadRows& rows, View d_state,
                                     const TensorGradients& grads) const {
    Tensor before, factors;
    for (std::size_t i = items_.size(); i-- > 0;) {
        const Item& item = items_[i];
        if (!(item.roles & bit(rows.role))) continue;
        item.encoding->rotate_backward(dx, x, item.own(rows), {.state = item.own(d_state), .tensors = grads[i]});
        const auto rotates_too = [&](const Item& other) { return (other.roles & bit(rows.role)) != 0; };
        if (!item.scales_queries ||
            std::none_of(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(i), rotates_too))
            continue;
        if (before.size() == 0) before = Tensor(x.rows, x.cols), factors = Tensor(x.rows, x.cols);
        std::fill_n(factors.data(), factors.size(), 1.0f);
        item.encoding->rotate(factors.view(), item.own(rows));
        for (int row = 0; row < x.rows; ++row)
            for (int j = 0; j < x.cols; ++j) {
                const float factor = factors.view().row(row)[j];
                before.view().row(row)[j] = factor != 0 ? x.row(row)[j] / factor : 0;
            }
        x = before.view();
    }
}

void LayerEncodings::bias_backward(View d_scores, const Tile& tile, const Gradients& gradient,
                                   const TensorGradients& grads) const {
    for (std::size_t i = 0; i < items_.size(); ++i)
        if (items_[i].backward & moment_bias)
            items_[i].encoding->bias_backward(d_scores, Shown(*this, items_[i], tile),
                                              shown(items_[i], gradient, grads[i]));
}

void LayerEncodings::rescore_backward(View d_scores, View scores, const Tile& tile, const Gradients& gradient,
                                      const TensorGradients& grads) const {
    std::vector<float> row;
    for (std::size_t i = items_.size(); i-- > 0;) {
        const Item& item = items_[i];
        if (!(item.moments & moment_rescore)) continue;
        View before = scores;
        for (std::size_t j = 0; j < i; ++j) { // the row after the encodings before this one
            if (!(items_[j].moments & moment_rescore)) continue;
            if (before.data == scores.data) {
                row.assign(scores.data, scores.data + scores.cols);
                before = {row.data(), 1, scores.cols, scores.cols};
            }
            items_[j].encoding->rescore(before, Shown(*this, items_[j], tile));
        }
        item.encoding->rescore_backward(d_scores, before, Shown(*this, item, tile), shown(item, gradient, grads[i]));
    }
}

void LayerEncodings::mix_backward(View d_out, View weights, View d_weights, const Tile& tile, const Gradients& gradient,
                                  const TensorGradients& grads) const {
    for (std::size_t i = 0; i < items_.size(); ++i)
        if (items_[i].backward & moment_mix)
            items_[i].encoding->mix_backward(d_out, weights, d_weights, Shown(*this, items_[i], tile),
                                             shown(items_[i], gradient, grads[i]));
}

void LayerEncodings::sink_backward(float d_sink, const Tile& query, const Gradients& gradient,
                                   const TensorGradients& grads) const {
    for (std::size_t i = 0; i < items_.size(); ++i)
        if (items_[i].backward & moment_sink)
            items_[i].encoding->sink_backward(d_sink, Shown(*this, items_[i], query),
                                              shown(items_[i], gradient, grads[i]));
}

} // namespace ordo
