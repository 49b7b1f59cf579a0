// SPDX-License-Identifier: MIT
// -march=x86-64-v4 -mavx512vnni: products of bytes in one instruction (Ice Lake, 2019; Zen 4, 2022).
#include "kernels/kernels.h"

#include "kernels/vectors.h"

#include "kernels/panels.h"
#include "kernels/peaks.h"
#include "kernels/quant_panels.h"
#include "kernels/rare_panels.h"
#include "kernels/super_panels.h"

namespace ordo {
void avx512vnni_kernels(Kernels& set) {
    set.name = "avx512vnni";
    static_cast<ByteLoops&>(set) = byte_loops;
}
} // namespace ordo
