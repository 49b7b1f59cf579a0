// SPDX-License-Identifier: MIT
// The set `amx` on any machine: its loops run on emulated tiles, and the rest is that of `baseline`.
#include "kernels/kernels.h"

#include "tests/kernels/emulated_tiles.h"

#include "kernels/vectors.h"

#include "kernels/body.h"
#include "kernels/panels.h"
#include "kernels/quant_panels.h"
#include "kernels/rare_panels.h"
#include "kernels/slabs.h"
#include "kernels/super_panels.h"
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

} // namespace

namespace ordo::test {
extern const Kernels amx_emulated_kernels, amx_emulated_vectors;
constinit const Kernels amx_emulated_kernels = with_tiles<EmulatedUnit>(ORDO_KERNELS("amx-emulated"));
constinit const Kernels amx_emulated_vectors = ORDO_KERNELS("amx-emulated-vectors");

std::vector<const Kernels*> tested_kernels() {
    std::vector<const Kernels*> sets(available_kernels().begin(), available_kernels().end());
    sets.push_back(&amx_emulated_kernels);
    return sets;
}
} // namespace ordo::test
