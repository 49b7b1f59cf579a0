// SPDX-License-Identifier: MIT
// Whether this process may use AMX's tiles. Linux grants their eight kilobytes of state only on request.
#pragma once

#include <cstdint>

namespace ordo {

// The state of the processor and the system; tests provide others.
struct TileMachine {
    unsigned features = 0;                       // CPUID 1, ECX
    unsigned extensions = 0;                     // CPUID 7, EDX
    std::uint64_t state = 0;                     // XCR0: the state that the system saves when threads switch
    unsigned tiles = 0, rows = 0, row_bytes = 0; // CPUID 1DH: of palette 1
    bool (*permit)() = nullptr;                  // asks the system for the whole process, before any thread computes
};
TileMachine this_tile_machine();

// True with AMX-TILE, AMX-INT8 and AMX-BF16, tiles of the size that kernels/tile_products.h needs, and the permission.
// The permission is requested only where all else is available.
bool runs_tiles(const TileMachine& machine);

} // namespace ordo
