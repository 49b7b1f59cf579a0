// SPDX-License-Identifier: MIT
// The defaults of Encoding: no gradients, no cost, and no keys moved that hold positions.
#include "core/error.h"
#include "encoding/base/moments.h"
#include "encoding/base/spec.h"

#include <algorithm>

namespace ordo {
namespace {

[[noreturn]] void no_gradient(const Encoding& encoding, Moment moment) {
    const std::string spec = encoding.spec();
    std::string_view name;
    for (const MomentInfo& info : moments_of_a_pass)
        if (info.moment == moment) name = info.name;
    fail(ErrorCode::usage, printable(name_of(spec)), ": has no gradient for ", name);
}

} // namespace

int Dims::slot(int layer) const {
    if (layers.empty()) return layer >= 0 && layer < n_layers ? layer : -1;
    const auto at = std::lower_bound(layers.begin(), layers.end(), layer);
    return at != layers.end() && *at == layer ? static_cast<int>(at - layers.begin()) : -1;
}

bool Encoding::can_move_keys() const {
    return !rotates(Role::key) && (moments() & moment_observe) == 0 &&
           ((moments() & moment_embed) == 0 || shift_invariant());
}

Operations Encoding::operations(Moment, const Work&) const {
    return {};
}

void Encoding::embed_backward(View, View, const TokenRows&, std::span<const View>) const {
    no_gradient(*this, moment_embed);
}
void Encoding::observe_backward(View, View, int, Positions, View, View, std::span<const View>) const {
    no_gradient(*this, moment_observe);
}
void Encoding::rotate_backward(View, View, const HeadRows&, std::span<const View>) const {
    no_gradient(*this, moment_rotate);
}
void Encoding::bias_backward(View, const Tile&, const TileGradient&) const {
    no_gradient(*this, moment_bias);
}
void Encoding::rescore_backward(View, View, const Tile&, const TileGradient&) const {
    no_gradient(*this, moment_rescore);
}
void Encoding::mix_backward(View, View, View, const Tile&, const TileGradient&) const {
    no_gradient(*this, moment_mix);
}
void Encoding::sink_backward(int, int, float, std::span<const View>) const {
    no_gradient(*this, moment_sink);
}

} // namespace ordo
