// SPDX-License-Identifier: MIT
// -march=x86-64-v3: AVX2 and FMA (Haswell, 2013).
#include "kernels/kernels.h"

#define ORDO_TILE_ROWS 6 // with ORDO_TILE_VECTORS: as many accumulators as the registers hold
#define ORDO_TILE_VECTORS 2
#define ORDO_ROW_VECTORS 8 // of a single row, where chains of additions are short of company
#define ORDO_DOTS_ROWS 4   // rows of x that meet a row of weights at once
#define ORDO_PANEL_ROWS 3  // rows of x against a panel of halves
#define ORDO_QUANT_ROWS 2  // and of quantised weights
#include "kernels/vectors.h"

#include "kernels/body.h"
#include "kernels/panels.h"

namespace ordo {
extern const Kernels avx2_kernels;
const Kernels avx2_kernels = ORDO_KERNELS("avx2");
} // namespace ordo
