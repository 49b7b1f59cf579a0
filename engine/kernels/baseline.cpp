// SPDX-License-Identifier: MIT
// x86-64-v2: SSE4.2 (Nehalem, 2008).
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
void baseline_kernels(Kernels& set) {
    set = ORDO_KERNELS("baseline");
}
} // namespace ordo
