// SPDX-License-Identifier: MIT
// How pictures distinguish their series.
#pragma once

#include "tools/lab/drawing/palette.h"
#include "tools/lab/lab.h"

namespace ordo::lab {

struct Look {
    Color color;
    int mark; // gnuplot's point types
    int dash; // gnuplot's dash types
};

// One look for each series. A label that begins with an encoding's name has the same colour, mark and dash in every
// picture, by the encoding's place in list.def. Several series of one encoding share its colour. Other series follow
// their order in the picture.
std::vector<Look> looks_of(const Curves& curves);

} // namespace ordo::lab
