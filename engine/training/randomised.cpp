// SPDX-License-Identifier: MIT
#include "training/randomised.h"

#include "core/random.h"

#include <vector>

namespace ordo {

// Floyd's algorithm: each j draws a number up to j. That number joins the set, or j if it is already in (Bentley and
// Floyd 1987).
void randomised_positions(std::uint64_t seed, std::uint64_t sequence, int below, std::span<int> out) {
    const Random random(seed, 0x905171015);
    const auto all = static_cast<std::uint64_t>(below), n = static_cast<std::uint64_t>(out.size());
    std::vector<bool> in(static_cast<std::size_t>(all));
    for (std::uint64_t j = all - n; j < all; ++j) {
        const std::uint64_t drawn = random.below(sequence * n + (j - (all - n)), j + 1);
        in[in[drawn] ? j : drawn] = true;
    }
    std::size_t at = 0;
    for (int i = 0; i < below; ++i)
        if (in[i]) out[at++] = i;
}

void even_positions(int below, std::span<int> out) {
    const auto n = static_cast<std::int64_t>(out.size());
    for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<int>((i + 1) * (std::int64_t{below} + 1) / (n + 1) - 1);
}

} // namespace ordo
