// SPDX-License-Identifier: MIT
// The sets of kernels that tests go through: those that this machine runs, and the one for AMX on emulated tiles.
#pragma once

#include "kernels/kernels.h"

#include <vector>

namespace ordo::test {

// Slow; select_kernels does not know them by name. The second is compiled beside the first, without tiles: floats
// around sums of bytes have the same bits.
extern const Kernels amx_emulated_kernels, amx_emulated_vectors;
std::vector<const Kernels*> tested_kernels();

// A test's, while it lives; the machine's best again afterwards.
class Selected {
public:
    explicit Selected(const Kernels& set) { select_kernels(set); }
    ~Selected() { select_kernels("auto"); }
    Selected(const Selected&) = delete;
    Selected& operator=(const Selected&) = delete;
};

} // namespace ordo::test
