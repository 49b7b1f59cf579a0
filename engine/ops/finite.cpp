// SPDX-License-Identifier: MIT
#include "ops/finite.h"

#include "core/parallel.h"

#include <algorithm>
#include <atomic>

namespace ordo {

bool all_finite(View x) {
    std::atomic<bool> finite{true};
    parallel_for(x.rows, std::max(1, 65536 / std::max(1, x.cols)), [&](std::ptrdiff_t i) {
        const float* row = x.row(static_cast<int>(i));
        float sum = 0; // v - v is 0, or NaN if v is not finite
#pragma omp simd reduction(+ : sum)
        for (int j = 0; j < x.cols; ++j) sum += row[j] - row[j];
        if (!(sum == 0)) finite.store(false, std::memory_order_relaxed);
    });
    return finite.load();
}

} // namespace ordo
