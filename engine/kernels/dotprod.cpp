// SPDX-License-Identifier: MIT
// -march=armv8.2-a+dotprod: products of bytes in one instruction (Cortex-A76 and Neoverse N1, 2018; Apple A13, 2019).
#include "kernels/kernels.h"

#include "kernels/vectors.h"

#include "kernels/panels.h"
#include "kernels/peaks.h"
#include "kernels/quant_panels.h"
#include "kernels/rare_panels.h"
#include "kernels/super_panels.h"

namespace ordo {
void dotprod_kernels(Kernels& set) {
    set.name = "dotprod";
    static_cast<ByteLoops&>(set) = byte_loops;
}
} // namespace ordo
