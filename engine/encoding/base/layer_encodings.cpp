// SPDX-License-Identifier: MIT
#include "encoding/base/layer_encodings.h"

#include "core/tensor.h"

#include <algorithm>
#include <optional>

namespace ordo {
namespace {

// Columns first .. first + count - 1 of a view that may have no data.
View columns(View v, int first, int count) {
    return v.data && count > 0 ? cols_of(v, first, count) : View{};
}

} // namespace

// A tile and its gradient, restricted to one encoding's columns of the state. Copied only where these are not all.
class LayerEncodings::Shown {
public:
    Shown(const LayerEncodings& all, const Item& item, const Tile& tile) : tile_(&tile) {
        if (item.state_floats == all.state_floats_) return;
        own_ = tile;
        own_->query_state = columns(tile.query_state, item.state_at, item.state_floats);
        own_->key_state = columns(tile.key_state, item.state_at, item.state_floats);
        tile_ = &*own_;
    }
    operator const Tile&() const { return *tile_; }

private:
    const Tile* tile_;
    std::optional<Tile> own_;
};

Gradients LayerEncodings::shown(const Item& item, const Gradients& gradient, std::span<const View> tensors) {
    const auto own = [&](View state) { return columns(state, item.state_at, item.state_floats); };
    return {gradient.q, gradient.k, own(gradient.query_state), own(gradient.key_state), own(gradient.state), tensors};
}

void LayerEncodings::observe(View x, Positions positions, const float* before, View state) const {
    each(moment_observe, [&](const Item& item) {
        item.encoding->observe(x, layer_, positions, before ? before + item.state_at : nullptr,
                               columns(state, item.state_at, item.state_floats));
    });
}

void LayerEncodings::rotate(View x, const HeadRows& rows) const {
    each(moment_rotate, [&](const Item& item) { item.encoding->rotate(x, rows); });
}

bool LayerEncodings::can_move_keys() const {
    return std::all_of(items_.begin(), items_.end(), [](const Item& item) { return item.encoding->can_move_keys(); });
}

void LayerEncodings::move_keys(View keys, const HeadRows& rows, int by) const {
    for (const Item& item : items_) item.encoding->move_keys(keys, rows, by);
}

void LayerEncodings::bias(View scores, const Tile& tile) const {
    each(moment_bias, [&](const Item& item) { item.encoding->bias(scores, Shown(*this, item, tile)); });
}

void LayerEncodings::rescore(View scores, const Tile& tile) const {
    each(moment_rescore, [&](const Item& item) { item.encoding->rescore(scores, Shown(*this, item, tile)); });
}

void LayerEncodings::mix(View out, View weights, const Tile& tile) const {
    each(moment_mix, [&](const Item& item) { item.encoding->mix(out, weights, Shown(*this, item, tile)); });
}

float LayerEncodings::sink(int head) const {
    for (const Item& item : items_)
        if (item.moments & moment_sink) return item.encoding->sink(layer_, head); // at most one encoding has a sink
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
            item.encoding->observe_backward(columns(d_state, item.state_at, item.state_floats), x, layer_, positions,
                                            columns(state, item.state_at, item.state_floats), dx,
                                            {.tensors = grads[i]});
    }
}

void LayerEncodings::rotate_backward(View dx, View x, const HeadRows& rows, const TensorGradients& grads) const {
    for (std::size_t i = 0; i < items_.size(); ++i)
        if (items_[i].backward & moment_rotate) // at most one encoding rotates
            items_[i].encoding->rotate_backward(dx, x, rows, {.tensors = grads[i]});
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

void LayerEncodings::sink_backward(int head, float d_sink, const TensorGradients& grads) const {
    for (std::size_t i = 0; i < items_.size(); ++i)
        if (items_[i].backward & moment_sink)
            items_[i].encoding->sink_backward(layer_, head, d_sink, {.tensors = grads[i]});
}

} // namespace ordo
