// SPDX-License-Identifier: MIT
// RoPE's keys, changed in a spec.
#pragma once

#include "encoding/base/spec.h"

namespace ordo {

// Removes the scaling of an item with all its keys.
void remove_scaling(SpecItem& rope);
// The spec with these keys set in each of its ropes, "scaling=linear,factor=4". A new scaling replaces the old one with
// all its keys. Throws Error(usage), also for a spec without rope.
std::string with_rope_keys(std::string_view spec, std::string_view keys);

} // namespace ordo
