// SPDX-License-Identifier: MIT
// CoPE's count: the position of key j is p_j = min(g_j + g_(j+1) + .. + g_last, last), of the gates g = sigmoid(score).
// Keys are counted from the last key on, in runs, until the count is full.
#pragma once

#include "kernels/kernels.h"
#include "rows.h"

#include <algorithm>
#include <cstring>

namespace ordo {
namespace key_count {

typedef float Four __attribute__((vector_size(16)));
typedef int FourInts __attribute__((vector_size(16)));

constexpr int keys_at_once = 64, keys_of_run = 16;

// at[j] = start + gates[j] + .. + gates[keys_of_run - 1], which never decreases towards lower j. Returns the sum of the
// gates.
inline float add_up(const float* gates, float start, float* at) {
    const Four none{};
    float sum = 0;
    for (int j = keys_of_run - 4; j >= 0; j -= 4) {
        Four four;
        std::memcpy(&four, gates + j, sizeof four);
        four += __builtin_shufflevector(four, none, 1, 2, 3, 4);
        four += __builtin_shufflevector(four, none, 2, 3, 4, 5);
        // Rounding can make the first sum of two pairs less than the next sum, but positions must not decrease.
        const Four next = __builtin_shufflevector(four, none, 1, 2, 3, 4);
        four = four < next ? next : four;
        four += sum;
        sum = four[0];
        four += start;
        std::memcpy(at + j, &four, sizeof four);
    }
    return sum;
}

// floor[i] = whole + the integer part of at[i]; at[i] keeps its fraction.
inline void split(int n, int whole, float* at, int* floor) {
    int i = 0;
    for (; i + 4 <= n; i += 4) {
        Four four;
        std::memcpy(&four, at + i, sizeof four);
        const FourInts down = __builtin_convertvector(four, FourInts), sum = down + whole;
        four -= __builtin_convertvector(down, Four);
        std::memcpy(floor + i, &sum, sizeof sum);
        std::memcpy(at + i, &four, sizeof four);
    }
    for (; i < n; ++i) {
        const int down = static_cast<int>(at[i]);
        floor[i] = down + whole;
        at[i] -= static_cast<float>(down);
    }
}

} // namespace key_count

// Keys whose position is below the last one: the i-th is key first + i.
struct CountedKeys {
    int first, n;
    const float* gates;
    const int* floor;
    const float* fraction;
};
// Calls use(keys) with the last keys first. Returns the number of remaining keys, which have the last position. use
// may write the scores of its keys.
template <class Use>
int count_keys(View scores, int last, const Use& use) {
    using namespace key_count;
    if (last == 0) return scores.cols;
    double total = 0; // sum of the gates so far
    for (int end = scores.cols; end > 0;) {
        const int first = std::max(0, end - keys_at_once), n = end - first;
        const int lead = -n & (keys_of_run - 1); // zeros before the keys, up to whole runs
        alignas(64) float gates[keys_at_once], at[keys_at_once];
        alignas(64) int floor[keys_at_once];
        std::fill_n(gates, lead, 0.0f);
        kernels().sigmoid(n, scores.row(0) + first, gates + lead);
        int full = lead; // keys before it have the last position
        bool filled = false;
        for (int begin = lead + n; begin > 0 && !filled;) {
            begin -= keys_of_run;
            // Floats are exact enough here: so few gates are added to a number below 1.
            const int whole = static_cast<int>(total);
            const auto start = static_cast<float>(total - whole), left = static_cast<float>(last - whole);
            const float sum = add_up(gates + begin, start, at + begin);
            const auto beyond = [left](float p) { return !(p < left); }; // true for NaN too
            filled = beyond(at[begin]);
            total += sum;
            if (filled) { // with equal sums at all zeros, so that full is at least lead
                full = begin + static_cast<int>(std::count_if(at + begin, at + begin + keys_of_run, beyond));
                split(begin + keys_of_run - full, whole, at + full, floor + full);
            } else {
                split(keys_of_run, whole, at + begin, floor + begin);
            }
        }
        use({first + full - lead, n + lead - full, gates + full, floor + full, at + full});
        if (filled) return first + full - lead;
        end = first;
    }
    return 0;
}

} // namespace ordo
