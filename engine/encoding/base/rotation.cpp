// SPDX-License-Identifier: MIT
#include "encoding/base/rotation.h"

#include "core/parallel.h"
#include "encoding/base/table.h"
#include "kernels/kernels.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

namespace ordo {
namespace {

constexpr int chunk_pairs = 64;                   // computed at a time without a table
constexpr std::ptrdiff_t thread_floats = 1 << 15; // worth waking a thread for

} // namespace

Rotation::Rotation(PairTurns turns, Pairing pairing) : turns_(std::move(turns)), pairing_(pairing) {}

double Rotation::gain(int position, int pair) const {
    if (turns_.growth.empty()) return turns_.factor;
    return turns_.factor * std::exp(position * turns_.growth[pair]);
}

void Rotation::fill(int position, int first_pair, int count, float* cos, float* sin) const {
    for (int k = 0; k < count; ++k) {
        const double t = angle(position, first_pair + k), g = gain(position, first_pair + k);
        cos[k] = static_cast<float>(g * std::cos(t));
        sin[k] = static_cast<float>(g * std::sin(t));
    }
}

// Reads each pair's position on its own axis. Takes values from the table as far as it goes.
void Rotation::fill_axes(Positions positions, std::size_t row, int first_pair, int count, float* cos,
                         float* sin) const {
    for (int k = 0; k < count; ++k) {
        const int pair = first_pair + k, position = positions.at(row, axis(pair));
        if (const float* from = table_.row(position)) {
            cos[k] = from[pair];
            sin[k] = from[pairs() + pair];
        } else {
            fill(position, pair, 1, cos + k, sin + k);
        }
    }
}

void Rotation::prepare(int n_positions) {
    table_.prepare(n_positions, 2 * pairs(), 64,
                   [&](int position, float* row) { fill(position, 0, pairs(), row, row + pairs()); });
}

void Rotation::apply(View x, int n_heads, Positions positions, bool transposed) const {
    assert(static_cast<int>(positions.size()) == x.rows && x.cols % n_heads == 0);
    const int d_head = x.cols / n_heads;
    assert(2 * pairs() <= d_head);
    const float direction = transposed ? -1.0f : 1.0f;
    const std::ptrdiff_t grain = std::max<std::ptrdiff_t>(1, thread_floats / x.cols);
    if (!turns_.axes.empty() && positions.axes() > 1) {
        parallel_for(x.rows, grain, [&](std::ptrdiff_t i) {
            apply_axes(x.row(static_cast<int>(i)), n_heads, d_head, positions, static_cast<std::size_t>(i), direction);
        });
        return;
    }
    parallel_for(x.rows, grain, [&](std::ptrdiff_t i) {
        apply_row(x.row(static_cast<int>(i)), n_heads, d_head, positions[i], direction);
    });
}

// R_{p-b} = R_{-b} R_p, and growth g^{p-b} = g^{-b} g^p. The factor has been applied already.
void Rotation::move(View x, int n_heads, int by) const {
    if (x.rows == 0) return;
    const int n = pairs(), d_head = x.cols / n_heads;
    std::array<float, chunk_pairs> cos, sin;
    for (int first = 0; first < n; first += chunk_pairs) {
        const int count = std::min(chunk_pairs, n - first);
        for (int k = 0; k < count; ++k) {
            const auto pair = static_cast<std::size_t>(first + k), at = static_cast<std::size_t>(k);
            const double t = angle(by, first + k), g = turns_.growth.empty() ? 1 : std::exp(-by * turns_.growth[pair]);
            cos[at] = static_cast<float>(g * std::cos(t));
            sin[at] = static_cast<float>(g * std::sin(t));
        }
        for (int i = 0; i < x.rows; ++i) turn(x.row(i), n_heads, d_head, first, count, cos.data(), sin.data(), -1.0f);
    }
}

// Pairs [first, first + count) of all heads of a row.
inline void Rotation::turn(float* row, int n_heads, int d_head, int first, int count, const float* cos,
                           const float* sin, float direction) const {
    const Kernels& k = kernels();
    for (int head = 0; head < n_heads; ++head) {
        float* x = row + static_cast<std::ptrdiff_t>(head) * d_head;
        if (pairing_ == Pairing::adjacent)
            k.rotate_adjacent(count, cos, sin, direction, x + 2 * first);
        else
            k.rotate_halves(count, cos, sin, direction, x + first, x + first + pairs());
    }
}

void Rotation::apply_row(float* row, int n_heads, int d_head, int position, float direction) const {
    const int n = pairs();
    if (const float* cos = table_.row(position)) return turn(row, n_heads, d_head, 0, n, cos, cos + n, direction);
    std::array<float, chunk_pairs> cos, sin;
    for (int first = 0; first < n; first += chunk_pairs) {
        const int count = std::min(chunk_pairs, n - first);
        fill(position, first, count, cos.data(), sin.data());
        turn(row, n_heads, d_head, first, count, cos.data(), sin.data(), direction);
    }
}

void Rotation::apply_axes(float* row, int n_heads, int d_head, Positions positions, std::size_t i,
                          float direction) const {
    std::array<float, chunk_pairs> cos, sin;
    for (int first = 0; first < pairs(); first += chunk_pairs) {
        const int count = std::min(chunk_pairs, pairs() - first);
        fill_axes(positions, i, first, count, cos.data(), sin.data());
        turn(row, n_heads, d_head, first, count, cos.data(), sin.data(), direction);
    }
}

PairColumns pair_columns(Pairing pairing, int pair, int pairs) {
    if (pairing == Pairing::adjacent) return {2 * pair, 2 * pair + 1};
    return {pair, pair + pairs};
}

TableRows rotation_matrix(std::vector<double> angles, Pairing pairing, int size, double gain) {
    return make_matrix("dim", 0, size, size,
                       [angles = std::move(angles), pairing, gain](std::int64_t row, std::span<double> out) {
                           const int pairs = static_cast<int>(angles.size());
                           out[row] = 1;
                           for (int k = 0; k < pairs; ++k) {
                               const auto [first, second] = pair_columns(pairing, k, pairs);
                               if (row != first && row != second) continue;
                               const double t = angles[k];
                               out[row] = gain * std::cos(t);
                               if (row == second)
                                   out[first] = gain * std::sin(t);
                               else
                                   out[second] = 0 - gain * std::sin(t); // 0, not -0
                           }
                       });
}

} // namespace ordo
