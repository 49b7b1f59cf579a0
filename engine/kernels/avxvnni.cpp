// SPDX-License-Identifier: MIT
// -march=x86-64-v3 -mavxvnni: products of bytes in one instruction without AVX-512 (Alder Lake, 2021).
#include "kernels/kernels.h"

#include "kernels/vectors.h"

#include "kernels/panels.h"
#include "kernels/peaks.h"
#include "kernels/quant_panels.h"
#include "kernels/rare_panels.h"
#include "kernels/super_panels.h"

namespace ordo {
void avxvnni_kernels(Kernels& set) {
    set.name = "avxvnni";
    static_cast<ByteLoops&>(set) = byte_loops;
}
} // namespace ordo
