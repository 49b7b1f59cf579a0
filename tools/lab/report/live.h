// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace ordo::lab {

// A section of the page with three figures that answer to sliders: sinusoidal waves by width and base, RoPE's scores by
// distance, theta and scaling, ALiBi's penalty by slope and distance. Plain script, which loads nothing.
extern const std::string_view live_figures;

} // namespace ordo::lab
