// SPDX-License-Identifier: MIT
// -march=x86-64-v4 -mavx512vnni -mavx512bf16: products of pairs of bf16 too (Cooper Lake, 2020; Zen 4, 2022).
#include "kernels/kernels.h"

#include "kernels/vectors.h"

#include "kernels/panels.h"
#include "kernels/peaks.h"
#include "kernels/quant_panels.h"
#include "kernels/slabs.h"

namespace ordo {
void avx512bf16_kernels(Kernels& set) {
    set.name = "avx512bf16";
    static_cast<PairLoops&>(set) = pair_loops;
}
} // namespace ordo
