// SPDX-License-Identifier: MIT
// x86-64-v2: SSE4.2 (Nehalem, 2008).
#include "kernels/kernels.h"

#define ORDO_TILE_ROWS 2    // with ORDO_TILE_VECTORS: as many accumulators as the registers hold
#define ORDO_TILE_VECTORS 1 // of 16 floats
#include "kernels/body.h"

namespace ordo {
extern const Kernels baseline_kernels;
const Kernels baseline_kernels = ORDO_KERNELS("baseline");
} // namespace ordo
