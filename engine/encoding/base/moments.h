// SPDX-License-Identifier: MIT
// The moments of a pass, by name.
#pragma once

#include "encoding.h"

namespace ordo {

// In the order of a pass, with the values on which each moment acts.
struct MomentInfo {
    Moment moment;
    std::string_view name, acts_on;
};
inline constexpr MomentInfo moments_of_a_pass[] = {
    {moment_positions, "positions", "token ids"},  {moment_embed, "embed", "embeddings"},
    {moment_shift, "shift", "neighbouring rows"},  {moment_observe, "observe", "layer inputs"},
    {moment_rotate, "rotate", "queries and keys"}, {moment_bias, "bias", "scores"},
    {moment_rescore, "rescore", "rows of scores"}, {moment_sink, "sink", "softmax"},
    {moment_mix, "mix", "outputs of heads"}};

inline constexpr Role all_roles[] = {Role::query, Role::key, Role::value, Role::output};

inline constexpr Place all_places[] = {Place::embedding, Place::attention, Place::qkv, Place::feed_forward};

// Whether a cache keeps the state of an encoding that reads these parts.
constexpr bool keeps_state(unsigned reads) {
    return (reads & (reads_state | reads_query_state)) != reads_query_state;
}

} // namespace ordo
