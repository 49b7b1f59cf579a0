// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace ordo::lab {

// A section of the page with three figures that follow sliders: sinusoidal waves by width and base, RoPE's scores by
// distance, theta and scaling, ALiBi's penalty by slope and distance. The script is plain and loads nothing. It reads
// the colours of the pictures from a variable `palette`, which the page defines before it.
extern const std::string_view live_figures;

} // namespace ordo::lab
