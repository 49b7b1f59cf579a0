// SPDX-License-Identifier: MIT
#include "encoding/rotation.h"

#include "core/parallel.h"
#include "encoding/table.h"
#include "kernels/kernels.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

namespace ordo {
namespace {

constexpr std::size_t max_table_floats = std::size_t{1} << 24; // 64 MiB; the rest is computed as needed
constexpr int chunk_pairs = 64;                                // computed at a time without a table
constexpr std::ptrdiff_t thread_floats = 1 << 15;              // worth waking a thread for

} // namespace

Rotation::Rotation(std::vector<double> frequencies, Pairing pairing)
    : frequencies_(std::move(frequencies)), pairing_(pairing) {}

void Rotation::fill(int position, int first_pair, int count, float* cos, float* sin) const {
    for (int k = 0; k < count; ++k) {
        const double t = angle(position, first_pair + k);
        cos[k] = static_cast<float>(std::cos(t));
        sin[k] = static_cast<float>(std::sin(t));
    }
}

void Rotation::prepare(int n_positions) {
    const std::size_t row = 2 * frequencies_.size();
    const std::size_t rows = std::min(static_cast<std::size_t>(std::max(n_positions, 0)), max_table_floats / row);
    if (rows <= static_cast<std::size_t>(prepared_)) return;
    table_ = Buffer<float>(rows * row);
    prepared_ = static_cast<int>(rows);
    parallel_for(prepared_, 64, [&](std::ptrdiff_t p) {
        float* at = table_.data() + static_cast<std::size_t>(p) * row;
        fill(static_cast<int>(p), 0, pairs(), at, at + pairs());
    });
}

void Rotation::apply(View x, int n_heads, Positions positions, bool inverse) const {
    assert(static_cast<int>(positions.size()) == x.rows && x.cols % n_heads == 0);
    const int d_head = x.cols / n_heads;
    assert(2 * pairs() <= d_head);
    const std::ptrdiff_t grain = std::max<std::ptrdiff_t>(1, thread_floats / x.cols);
    parallel_for(x.rows, grain, [&](std::ptrdiff_t i) {
        const int row = static_cast<int>(i);
        apply_row(x.row(row), n_heads, d_head, positions[static_cast<std::size_t>(i)], inverse);
    });
}

void Rotation::apply_row(float* row, int n_heads, int d_head, int position, bool inverse) const {
    const int n = pairs();
    const float direction = inverse ? -1.0f : 1.0f;
    const Kernels& k = kernels();
    std::array<float, chunk_pairs> cos_chunk, sin_chunk;
    const bool ready = position < prepared_;
    const int chunk = ready ? n : chunk_pairs;
    for (int first = 0; first < n; first += chunk) {
        const int count = std::min(chunk, n - first);
        const float* cos = cos_chunk.data();
        const float* sin = sin_chunk.data();
        if (ready) {
            cos = table_.data() + 2 * static_cast<std::ptrdiff_t>(position) * n;
            sin = cos + n;
        } else {
            fill(position, first, count, cos_chunk.data(), sin_chunk.data());
        }
        for (int head = 0; head < n_heads; ++head) {
            float* x = row + static_cast<std::ptrdiff_t>(head) * d_head;
            if (pairing_ == Pairing::adjacent)
                k.rotate_adjacent(count, cos, sin, direction, x + 2 * first);
            else
                k.rotate_halves(count, cos, sin, direction, x + first, x + first + n);
        }
    }
}

PairColumns pair_columns(Pairing pairing, int pair, int pairs) {
    if (pairing == Pairing::adjacent) return {2 * pair, 2 * pair + 1};
    return {pair, pair + pairs};
}

TableRows rotation_matrix(std::vector<double> angles, Pairing pairing, int size) {
    return make_matrix("dim", 0, size, size,
                       [angles = std::move(angles), pairing](std::int64_t row, std::span<double> out) {
                           const int pairs = static_cast<int>(angles.size());
                           out[static_cast<std::size_t>(row)] = 1;
                           for (int k = 0; k < pairs; ++k) {
                               const auto [first, second] = pair_columns(pairing, k, pairs);
                               if (row != first && row != second) continue;
                               const double t = angles[static_cast<std::size_t>(k)];
                               out[static_cast<std::size_t>(row)] = std::cos(t);
                               if (row == second)
                                   out[static_cast<std::size_t>(first)] = std::sin(t);
                               else
                                   out[static_cast<std::size_t>(second)] = 0 - std::sin(t); // 0, not -0
                           }
                       });
}

} // namespace ordo
