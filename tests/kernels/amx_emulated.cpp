// SPDX-License-Identifier: MIT
// The set `amx` on any machine: its loops run on emulated tiles, and the rest is inherited from the slowest set.
#include "kernels/kernels.h"

#include "tests/kernels/emulated_tiles.h"

#include "kernels/vectors.h"

#include "kernels/panels.h"
#include "kernels/peaks.h"
#include "kernels/quant_panels.h"
#include "kernels/slabs.h"
#include "kernels/tile_products.h"

#include "tests/kernels/sets.h"

namespace {

struct EmulatedUnit : ordo::test::EmulatedTiles {
    // Rounds to nearest even; subnormals become zero, and NaNs quiet.
    static void round(int n, const float* x, std::uint16_t* y) {
        for (int i = 0; i < n; ++i) {
            std::uint32_t bits;
            std::memcpy(&bits, x + i, sizeof bits);
            const std::uint32_t exponent = bits & 0x7f800000u, fraction = bits & 0x007fffffu;
            auto half = static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
            if (exponent == 0) half = static_cast<std::uint16_t>(bits >> 16 & 0x8000u);
            if (exponent == 0x7f800000u && fraction != 0) half = static_cast<std::uint16_t>(bits >> 16 | 0x40u);
            std::memcpy(y + i, &half, sizeof half);
        }
    }
};

// The rounded numbers 2 * pair and 2 * pair + 1 of row i of x [n, k], or of column i of x [k, n]; 0 beyond.
std::uint32_t pair_of(int n, int k, const float* x, std::ptrdiff_t ldx, bool transposed, int i, int pair) {
    std::uint16_t both[2] = {};
    for (int j = 0; j < 2; ++j)
        if (const int l = 2 * pair + j; i < n && l < k)
            EmulatedUnit::round(1, transposed ? x + l * ldx + i : x + i * ldx + l, both + j);
    return both[0] | std::uint32_t{both[1]} << 16;
}
int whole(int n, int part) {
    return (n + part - 1) / part * part;
}
void pack_rows(int n, int k, const float* x, std::ptrdiff_t ldx, bool transposed, std::uint32_t* out,
               std::ptrdiff_t stride) {
    for (int i = 0; i < n; ++i)
        for (int pair = 0; pair < whole(k, 32) / 2; ++pair)
            out[i * stride + pair] = pair_of(n, k, x, ldx, transposed, i, pair);
}
void pack_panels(int n, int k, const float* x, std::ptrdiff_t ldx, bool transposed, std::uint32_t* out,
                 std::ptrdiff_t stride) {
    for (int i = 0; i < whole(n, 16); ++i)
        for (int pair = 0; pair < whole(k, 32) / 2; ++pair)
            out[i / 32 * stride + 32 * pair + i % 32] = pair_of(n, k, x, ldx, transposed, i, pair);
}

ordo::Kernels slowest_set(const char* name) {
    ordo::Kernels set = *ordo::available_kernels().front();
    set.name = name;
    return set;
}

} // namespace

namespace ordo::test {
const Kernels amx_emulated_kernels = [] {
    Kernels set = with_tiles<EmulatedUnit>(slowest_set("amx-emulated"));
    set.pack_pair_rows = pack_rows, set.pack_pair_panels = pack_panels;
    return set;
}();
const Kernels amx_emulated_vectors = slowest_set("amx-emulated-vectors");

std::vector<const Kernels*> tested_kernels() {
    std::vector<const Kernels*> sets(available_kernels().begin(), available_kernels().end());
    sets.push_back(&amx_emulated_kernels);
    return sets;
}
} // namespace ordo::test
