// SPDX-License-Identifier: MIT
// A row of floats for each of the first positions, computed once.
#pragma once

#include "core/parallel.h"
#include "core/tensor.h"

#include <algorithm>

namespace ordo {

class PositionRows {
public:
    // Computes rows of `floats` numbers for positions 0 .. n_positions - 1: fill(position, row), in threads of `grain`
    // positions or more. Later positions, and those after 64 MiB, have no row.
    template <class Fill>
    void prepare(int n_positions, int floats, int grain, const Fill& fill) {
        const int count = std::clamp(n_positions, 0, (1 << 24) / floats);
        if (count <= count_) return;
        rows_ = Buffer<float>(static_cast<std::size_t>(count) * static_cast<std::size_t>(floats));
        count_ = count;
        floats_ = floats;
        parallel_for(count_, grain, [&](std::ptrdiff_t p) { fill(static_cast<int>(p), rows_.data() + p * floats_); });
    }
    // Null if the position has no row.
    const float* row(int position) const {
        return position < count_ ? rows_.data() + static_cast<std::ptrdiff_t>(position) * floats_ : nullptr;
    }

private:
    int count_ = 0, floats_ = 0;
    Buffer<float> rows_;
};

} // namespace ordo
