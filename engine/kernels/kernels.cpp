// SPDX-License-Identifier: MIT
#include "kernels/kernels.h"

#include "core/error.h"
#include "kernels/tile_permission.h"

#include <vector>

#if defined(__aarch64__)
#include <sys/auxv.h>
#elif defined(__x86_64__)
#include <cpuid.h>
#endif

namespace ordo {

namespace {

struct KnownSet {
    const Kernels& set;
    bool runs;
};

} // namespace

#if defined(__aarch64__)
extern const Kernels neon_kernels, dotprod_kernels;

namespace {

std::vector<KnownSet> known_sets() {
    return {{neon_kernels, true}, {dotprod_kernels, (::getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0}};
}

} // namespace
#elif defined(__x86_64__)
extern const Kernels baseline_kernels, avx2_kernels, avxvnni_kernels, avx512_kernels, avx512vnni_kernels,
    avx512bf16_kernels, amx_kernels;

namespace {

// __builtin_cpu_supports does not know these names: clang 14 lacks the first, GCC 12 the second.
bool has_f16c() {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
bool has_avxvnni() { // leaf 7, subleaf 1, EAX bit 4 (Intel 64 and IA-32 Architectures SDM, CPUID)
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & (1u << 4)) != 0;
}

// Slowest first. Every processor with AVX-512 has AVX2. AVX-512 and AVX-VNNI occur independently of each other.
std::vector<KnownSet> known_sets() {
    __builtin_cpu_init();
    const bool v3 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
                    __builtin_cpu_supports("bmi2") != 0 && has_f16c();
    const bool v4 = v3 && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
                    __builtin_cpu_supports("avx512cd") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
                    __builtin_cpu_supports("avx512vl") != 0;
    const bool vnni = v4 && __builtin_cpu_supports("avx512vnni") != 0;
    const bool bf16 = vnni && __builtin_cpu_supports("avx512bf16") != 0;
    return {{baseline_kernels, true},
            {avx2_kernels, v3},
            {avxvnni_kernels, v3 && has_avxvnni()},
            {avx512_kernels, v4},
            {avx512vnni_kernels, vnni},
            {avx512bf16_kernels, bf16},
            {amx_kernels, bf16 && runs_tiles(this_tile_machine())}};
}

} // namespace
#else // WebAssembly, whose compiler translates SSE4.2
extern const Kernels baseline_kernels;

namespace {

std::vector<KnownSet> known_sets() {
    return {{baseline_kernels, true}};
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
    static const std::vector<const Kernels*> sets = [] {
        std::vector<const Kernels*> running;
        for (const KnownSet& known : known_sets())
            if (known.runs) running.push_back(&known.set);
        return running;
    }();
    return sets;
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
