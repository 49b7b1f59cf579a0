// SPDX-License-Identifier: MIT
#include "ops/softmax.h"

#include "kernels/kernels.h"

#include <algorithm>

namespace ordo {

void softmax_row(int n, int first, int last, float* row) {
    const Kernels& k = kernels();
    const int visible = last - first;
    std::fill(row, row + first, 0.0f);
    k.scale(visible, 1.0f / k.exp_row(visible, row + first), row + first);
    std::fill(row + last, row + n, 0.0f);
}

} // namespace ordo
