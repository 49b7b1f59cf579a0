// SPDX-License-Identifier: MIT
// Whether this process may use AMX's tiles, whose eight kilobytes of state Linux gives only to those that ask.
#pragma once

#include <cstdint>

namespace ordo {

// What the processor and the system say; tests make up others.
struct TileMachine {
    unsigned features = 0;                       // CPUID 1, ECX
    unsigned extensions = 0;                     // CPUID 7, EDX
    std::uint64_t state = 0;                     // XCR0: what the system saves when threads change
    unsigned tiles = 0, rows = 0, row_bytes = 0; // CPUID 1DH: of palette 1
    bool (*permit)() = nullptr;                  // asks the system for the whole process, before any thread computes
};
TileMachine this_tile_machine();

// AMX-TILE, AMX-INT8 and AMX-BF16 with tiles as large as kernels/tile_products.h takes them, and the permission, which
// is asked for only where all else is there.
bool runs_tiles(const TileMachine& machine);

} // namespace ordo
