// SPDX-License-Identifier: MIT
// How the series of a picture are told apart.
#pragma once

#include "tools/lab/drawing/palette.h"
#include "tools/lab/lab.h"

namespace ordo::lab {

struct Look {
    Color color;
    int mark; // gnuplot's point types
    int dash; // gnuplot's dash types
};

// One for each series. An encoding whose name a label begins with has the same colour, mark and dash in every picture,
// its place in list.def decides which; several series of one encoding share its colour. Other series go by their place
// in the picture.
std::vector<Look> looks_of(const Curves& curves);

} // namespace ordo::lab
