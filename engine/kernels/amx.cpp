// SPDX-License-Identifier: MIT
// -march=x86-64-v4 -mavx512vnni -mavx512bf16 -mamx-tile -mamx-int8 -mamx-bf16: products on tiles too (Sapphire Rapids,
// 2023).
#include "kernels/kernels.h"

#include "kernels/tile_config.h"
#include "kernels/vectors.h"

#include "kernels/panels.h"
#include "kernels/peaks.h"
#include "kernels/quant_panels.h"
#include "kernels/slabs.h"
#include "kernels/tile_products.h"

namespace {

// In assembly. g++'s intrinsics paste the number of a tile into their own assembly, which excludes a template
// parameter, and do not declare that a load reads memory (g++ 12).
struct AmxUnit {
    static void configure(const ordo::TileConfig& config) { asm volatile("ldtilecfg %0" ::"m"(config)); }
    static void release() { asm volatile("tilerelease"); }
    template <int T>
    static void zero() {
        asm volatile("tilezero %%tmm%c0" ::"i"(T));
    }
    template <int T>
    static void load(const void* p, std::ptrdiff_t stride) {
        asm volatile("tileloadd (%1,%2,1), %%tmm%c0" ::"i"(T), "r"(p), "r"(stride) : "memory");
    }
    template <int T>
    static void store(void* p, std::ptrdiff_t stride) {
        asm volatile("tilestored %%tmm%c0, (%1,%2,1)" ::"i"(T), "r"(p), "r"(stride) : "memory");
    }
    template <int C, int A, int B>
    static void dot_pairs() {
        asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(C), "i"(A), "i"(B));
    }
    template <int C, int A, int B>
    static void dot_bytes() {
        asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(C), "i"(A), "i"(B));
    }
    static void round(int n, const float* x, std::uint16_t* y) { round_to_bf16(n, x, y); }
};

} // namespace

namespace ordo {
void amx_kernels(Kernels& set) {
    set = with_tiles<AmxUnit>(set);
    set.name = "amx";
}
} // namespace ordo
