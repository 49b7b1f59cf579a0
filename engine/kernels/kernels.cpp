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

// A set is the set below with other loops. It runs where the set below runs and the processor has the set's own
// instructions.
struct KnownSet {
    std::string_view below; // none: ""
    bool (*runs)();         // given that the set below runs
    void (*change)(Kernels& set);
};

} // namespace

// Each writes the name and the loops of its set. Their files are compiled for their machines, so that a machine calls
// only those whose sets it runs.
#if defined(__aarch64__)
void neon_kernels(Kernels& set);
void dotprod_kernels(Kernels& set);

namespace {

constexpr KnownSet known_sets[] = {
    {"", [] { return true; }, neon_kernels},
    {"neon", [] { return (::getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0; }, dotprod_kernels},
};

} // namespace
#elif defined(__x86_64__)
void baseline_kernels(Kernels& set);
void avx2_kernels(Kernels& set);
void avxvnni_kernels(Kernels& set);
void avx512_kernels(Kernels& set);
void avx512vnni_kernels(Kernels& set);
void avx512bf16_kernels(Kernels& set);
void amx_kernels(Kernels& set);

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
bool has_v3() {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
           __builtin_cpu_supports("bmi2") != 0 && has_f16c();
}
bool has_v4() {
    return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
           __builtin_cpu_supports("avx512cd") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
           __builtin_cpu_supports("avx512vl") != 0;
}

// Slowest first. Every processor with AVX-512 has AVX2. AVX-512 and AVX-VNNI occur independently of each other.
constexpr KnownSet known_sets[] = {
    {"", [] { return true; }, baseline_kernels},
    {"baseline", has_v3, avx2_kernels},
    {"avx2", has_avxvnni, avxvnni_kernels},
    {"avx2", has_v4, avx512_kernels},
    {"avx512", [] { return __builtin_cpu_supports("avx512vnni") != 0; }, avx512vnni_kernels},
    {"avx512vnni", [] { return __builtin_cpu_supports("avx512bf16") != 0; }, avx512bf16_kernels},
    {"avx512bf16", [] { return runs_tiles(this_tile_machine()); }, amx_kernels},
};

} // namespace
#else // WebAssembly, whose compiler translates SSE4.2
void baseline_kernels(Kernels& set);

namespace {

constexpr KnownSet known_sets[] = {{"", [] { return true; }, baseline_kernels}};

} // namespace
#endif

namespace {

const Kernels* named(std::span<const Kernels* const> sets, std::string_view name) {
    for (const Kernels* set : sets)
        if (name == set->name) return set;
    return nullptr;
}

const Kernels*& chosen() {
    static const Kernels* set = available_kernels().back();
    return set;
}

} // namespace

std::span<const Kernels* const> available_kernels() {
    static Kernels tables[std::size(known_sets)];
    static const std::vector<const Kernels*> sets = [] {
        std::vector<const Kernels*> running;
        for (const KnownSet& known : known_sets) {
            const Kernels* const below = named(running, known.below);
            if ((below == nullptr && !known.below.empty()) || !known.runs()) continue;
            Kernels& set = tables[running.size()];
            if (below != nullptr) set = *below;
            known.change(set);
            running.push_back(&set);
        }
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
    if (const Kernels* const set = named(available_kernels(), name)) {
        chosen() = set;
        return;
    }
    std::string known = "auto";
    for (const Kernels* set : available_kernels()) known += std::string(", ") + set->name;
    fail(ErrorCode::usage, "instruction set: expected one that this machine runs (", known, "), found '",
         printable(name), "'");
}

} // namespace ordo
