// SPDX-License-Identifier: MIT
// -march=armv8.2-a+dotprod: products of bytes in one instruction (Cortex-A76 and Neoverse N1, 2018; Apple A13, 2019).
#include "kernels/kernels.h"

#include "kernels/vectors.h"

#include "kernels/body.h"
#include "kernels/panels.h"
#include "kernels/quant_panels.h"
#include "kernels/rare_panels.h"
#include "kernels/slabs.h"
#include "kernels/super_panels.h"

namespace ordo {
extern const Kernels dotprod_kernels;
const Kernels dotprod_kernels = ORDO_KERNELS("dotprod");
} // namespace ordo
