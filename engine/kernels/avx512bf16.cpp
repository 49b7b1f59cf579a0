// SPDX-License-Identifier: MIT
// -march=x86-64-v4 -mavx512vnni -mavx512bf16: products of pairs of bf16 too (Cooper Lake, 2020; Zen 4, 2022).
#include "kernels/kernels.h"

#include "kernels/vectors.h"

#include "kernels/body.h"
#include "kernels/panels.h"
#include "kernels/quant_panels.h"
#include "kernels/rare_panels.h"
#include "kernels/slabs.h"
#include "kernels/super_panels.h"

namespace ordo {
extern const Kernels avx512bf16_kernels;
const Kernels avx512bf16_kernels = ORDO_KERNELS("avx512bf16");
} // namespace ordo
