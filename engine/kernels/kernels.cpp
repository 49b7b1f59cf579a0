// SPDX-License-Identifier: MIT
#include "kernels/kernels.h"

#include "core/error.h"
#include "kernels/tile_permission.h"

#if defined(__aarch64__)
#include <sys/auxv.h>
#else
#include <cpuid.h>
#endif

namespace ordo {

#if defined(__aarch64__)
extern const Kernels neon_kernels, dotprod_kernels;

namespace {

const Kernels* const sets[] = {&neon_kernels, &dotprod_kernels};

std::size_t runnable() {
    return (::getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0 ? 2 : 1;
}

} // namespace
#else
extern const Kernels baseline_kernels, avx2_kernels, avx512_kernels, avx512vnni_kernels, avx512bf16_kernels,
    amx_kernels;

namespace {

const Kernels* const sets[] = {&baseline_kernels,   &avx2_kernels,       &avx512_kernels,
                               &avx512vnni_kernels, &avx512bf16_kernels, &amx_kernels};

bool has_f16c() { // clang 14 cannot be asked by name
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

// Sets are ordered: each needs what the one before needs and more.
std::size_t runnable() {
    __builtin_cpu_init();
    for (const bool has : {__builtin_cpu_supports("avx2") != 0, __builtin_cpu_supports("fma") != 0,
                           __builtin_cpu_supports("bmi2") != 0, has_f16c()})
        if (!has) return 1;
    for (const bool has : {__builtin_cpu_supports("avx512f") != 0, __builtin_cpu_supports("avx512bw") != 0,
                           __builtin_cpu_supports("avx512cd") != 0, __builtin_cpu_supports("avx512dq") != 0,
                           __builtin_cpu_supports("avx512vl") != 0})
        if (!has) return 2;
    if (!__builtin_cpu_supports("avx512vnni")) return 3;
    if (!__builtin_cpu_supports("avx512bf16")) return 4;
    return runs_tiles(this_tile_machine()) ? 6 : 5;
}

} // namespace
#endif

namespace {

const Kernels*& chosen() {
    static const Kernels* set = available_kernels().back();
    return set;
}

} // namespace

std::span<const Kernels* const> available_kernels() {
    static const std::size_t n = runnable();
    return {sets, n};
}

const Kernels& kernels() {
    return *chosen();
}

void select_kernels(const Kernels& set) {
    chosen() = &set;
}

void select_kernels(std::string_view name) {
    if (name == "auto") {
        chosen() = available_kernels().back();
        return;
    }
    std::string known = "auto";
    for (const Kernels* set : available_kernels()) {
        if (name == set->name) {
            chosen() = set;
            return;
        }
        known += std::string(", ") + set->name;
    }
    fail(ErrorCode::usage, "instruction set: expected one that this machine runs (", known, "), found '",
         printable(name), "'");
}

} // namespace ordo
