// SPDX-License-Identifier: MIT
// Whether positions follow each other without gaps, as those of text do. A table by distance is then read in order.
#pragma once

#include "kernels/kernels.h"

#include "rows.h"

namespace ordo {

// Reads the first axis. True for an empty list.
inline bool consecutive(Positions positions) {
    if (positions.known_consecutive() || positions.empty()) return true;
    if (positions.stride() == 1)
        return kernels().consecutive(static_cast<int>(positions.size()), positions.ids().data());
    for (std::size_t i = 1; i < positions.size(); ++i)
        if (std::int64_t{positions[i]} - positions[i - 1] != 1) return false;
    return true;
}

} // namespace ordo
