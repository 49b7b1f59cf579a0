// SPDX-License-Identifier: MIT
// -march=x86-64-v4 -mavx512vnni -mavx512bf16: products of pairs of bf16 too (Cooper Lake, 2020; Zen 4, 2022).
#include "kernels/kernels.h"

#define ORDO_TILE_ROWS 6 // with ORDO_TILE_VECTORS: as many accumulators as the registers hold
#define ORDO_TILE_VECTORS 2
#define ORDO_ROW_VECTORS 4 // of a single row, where chains of additions are short of company
#define ORDO_DOTS_ROWS 8   // rows of x that meet a row of weights at once
#define ORDO_PANEL_ROWS 12 // rows of x against a panel of halves
#define ORDO_QUANT_ROWS 6  // and of quantised weights
#include "kernels/vectors.h"

#include "kernels/body.h"
#include "kernels/panels.h"

namespace ordo {
extern const Kernels avx512bf16_kernels;
const Kernels avx512bf16_kernels = ORDO_KERNELS("avx512bf16");
} // namespace ordo
