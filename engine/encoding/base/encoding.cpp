// SPDX-License-Identifier: MIT
// The defaults of Encoding.
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

const Encoding::Overridden& Encoding::overridden() const {
    if (!overridden_)
        fail(ErrorCode::usage, "encoding ", printable(spec()),
             ": moments(): expected an override, or a unique_ptr of its own class, found neither");
    return *overridden_;
}
unsigned Encoding::moments() const {
    return overridden().moments;
}
unsigned Encoding::gradients() const {
    return overridden().gradients;
}

AtLength Encoding::at_length(int, int) const {
    return {};
}

bool Encoding::rotates(Role role) const {
    return (role == Role::query || role == Role::key) && (moments() & moment_rotate) != 0;
}

bool Encoding::can_move_keys() const {
    const bool derives = (moments() & moment_positions) != 0; // ids that do not change
    const auto is_rotated = [this](Role role) { return role != Role::query && rotates(role); };
    return (derives || std::none_of(std::begin(all_roles), std::end(all_roles), is_rotated)) &&
           ((moments() & moment_observe) == 0 || !keeps_state(reads())) &&
           ((moments() & moment_embed) == 0 || derives || shift_invariant());
}

Operations Encoding::operations(Moment, const Work&) const {
    return {};
}

void Encoding::embed_backward(View, View, const TokenRows&, const Gradients&) const {
    no_gradient(*this, moment_embed);
}
void Encoding::observe_backward(View, View, int, Positions, View, View, const Gradients&) const {
    no_gradient(*this, moment_observe);
}
void Encoding::shift_backward(View, const ShiftRows&, const Gradients&) const {
    no_gradient(*this, moment_shift);
}
void Encoding::rotate_backward(View, View, const HeadRows&, const Gradients&) const {
    no_gradient(*this, moment_rotate);
}
void Encoding::bias_backward(View, const Tile&, const Gradients&) const {
    no_gradient(*this, moment_bias);
}
void Encoding::rescore_backward(View, View, const Tile&, const Gradients&) const {
    no_gradient(*this, moment_rescore);
}
void Encoding::mix_backward(View, View, View, const Tile&, const Gradients&) const {
    no_gradient(*this, moment_mix);
}
void Encoding::sink_backward(float, const Tile&, const Gradients&) const {
    no_gradient(*this, moment_sink);
}

} // namespace ordo
