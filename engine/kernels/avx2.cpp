// SPDX-License-Identifier: MIT
// -march=x86-64-v3: AVX2 and FMA (Haswell, 2013).
#include "kernels/kernels.h"

#define ORDO_TILE_ROWS 6    // with ORDO_TILE_VECTORS: as many accumulators as the registers hold
#define ORDO_TILE_VECTORS 1 // of 16 floats
#include "kernels/body.h"

namespace ordo {
extern const Kernels avx2_kernels;
const Kernels avx2_kernels = ORDO_KERNELS("avx2");
} // namespace ordo
