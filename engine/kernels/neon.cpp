// SPDX-License-Identifier: MIT
// -march=armv8-a: NEON, which every ARM64 processor has (2011).
#include "kernels/kernels.h"

#include "kernels/vectors.h"

#include "kernels/body.h"
#include "kernels/panels.h"
#include "kernels/peaks.h"
#include "kernels/quant_panels.h"
#include "kernels/rare_panels.h"
#include "kernels/slabs.h"
#include "kernels/super_panels.h"
#include "kernels/walks.h"

namespace ordo {
void neon_kernels(Kernels& set) {
    set = ORDO_KERNELS("neon");
}
} // namespace ordo
