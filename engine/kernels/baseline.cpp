// SPDX-License-Identifier: MIT
// x86-64-v2: SSE4.2 (Nehalem, 2008).
#include "kernels/kernels.h"

#define ORDO_TILE_ROWS 2 // with ORDO_TILE_VECTORS: as many accumulators as the registers hold
#define ORDO_TILE_VECTORS 4
#define ORDO_ROW_VECTORS 8 // of a single row, where chains of additions are short of company
#define ORDO_DOTS_ROWS 2   // rows of x that meet a row of weights at once
#define ORDO_PANEL_ROWS 1  // rows of x against a panel of halves
#define ORDO_QUANT_ROWS 1  // and of quantised weights
#include "kernels/vectors.h"

#include "kernels/body.h"
#include "kernels/panels.h"

namespace ordo {
extern const Kernels baseline_kernels;
const Kernels baseline_kernels = ORDO_KERNELS("baseline");
} // namespace ordo
