// SPDX-License-Identifier: MIT
// The sets of kernels under test: the sets of this machine, and AMX's set on emulated tiles.
#pragma once

#include "kernels/kernels.h"

#include <vector>

namespace ordo::test {

// Slow, and unknown to select_kernels. The second is the set below the first, compiled by the same rules for floats, so
// that floats around integer sums have the same bits.
extern const Kernels amx_emulated_kernels, amx_emulated_vectors;
std::vector<const Kernels*> tested_kernels();

// Selects a set while the object lives, and the machine's best set afterwards.
class Selected {
public:
    explicit Selected(const Kernels& set) { select_kernels(set); }
    ~Selected() { select_kernels("auto"); }
    Selected(const Selected&) = delete;
    Selected& operator=(const Selected&) = delete;
};

} // namespace ordo::test
