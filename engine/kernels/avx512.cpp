// SPDX-License-Identifier: MIT
// -march=x86-64-v4: AVX-512 F, BW, CD, DQ, VL (Skylake-X, 2017).
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
void avx512_kernels(Kernels& set) {
    set = ORDO_KERNELS("avx512");
}
} // namespace ordo
