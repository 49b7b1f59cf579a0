// SPDX-License-Identifier: MIT
// Rotation of pairs of columns by angles that grow with the position: what the rope family shares.
//   (a, b) -> g (a cos t - b sin t, a sin t + b cos t),  t = position * frequency[pair]
// Angles are computed in double and their cosines, times g, stored in float: g costs nothing.
#pragma once

#include "core/tensor.h"

namespace ordo {

// Which columns of a head make pair k of n: RoFormer and Meta's Llama rotate neighbours (2k, 2k + 1),
// GPT-NeoX and Hugging Face column k with k + n. Trained weights work with one of them only.
enum class Pairing { adjacent, halves };

// What each pair does.
struct PairTurns {
    std::vector<double> frequencies; // radians per position
    double factor = 1;               // g = factor * exp(position * growth[pair])
    std::vector<double> growth = {}; // empty: none
    std::vector<int> axes = {};      // on which a pair's position is read; empty: all on the first
};

class Rotation {
public:
    Rotation(PairTurns turns, Pairing pairing);

    // Cosines and sines of positions 0 .. n_positions - 1; beyond, they are computed at each call.
    void prepare(int n_positions);

    // In place on the first 2 * pairs() columns of each head of x [n, n_heads * d_head]; transposed: by the transpose
    // of the matrix, which turns back.
    void apply(View x, int n_heads, Positions positions, bool transposed) const;
    // In place what apply() gave at some positions, all on one axis: what it would give at positions less by `by`.
    void move(View x, int n_heads, int by) const;

    int pairs() const { return static_cast<int>(turns_.frequencies.size()); }
    double frequency(int pair) const { return turns_.frequencies[static_cast<std::size_t>(pair)]; }
    double angle(int position, int pair) const { return position * frequency(pair); }
    double gain(int position, int pair) const;
    int axis(int pair) const { return turns_.axes.empty() ? 0 : turns_.axes[static_cast<std::size_t>(pair)]; }

private:
    void fill(int position, int first_pair, int count, float* cos, float* sin) const;
    void fill_axes(Positions positions, std::size_t row, int first_pair, int count, float* cos, float* sin) const;
    void turn(float* row, int n_heads, int d_head, int first, int count, const float* cos, const float* sin,
              float direction) const;
    void apply_row(float* row, int n_heads, int d_head, int position, float direction) const;
    void apply_axes(float* row, int n_heads, int d_head, Positions positions, std::size_t i, float direction) const;

    PairTurns turns_;
    Pairing pairing_;
    Buffer<float> table_; // [prepared_, 2 * pairs]: cosines, then sines, times g
    int prepared_ = 0;
};

// The columns that pair k of n is.
struct PairColumns {
    int first, second;
};
PairColumns pair_columns(Pairing pairing, int pair, int pairs);
// The rotation by angles[k] of pair k as a matrix [size, size], y = R x, that makes pairs longer by gain; columns
// outside the pairs stay.
TableRows rotation_matrix(std::vector<double> angles, Pairing pairing, int size, double gain = 1);

} // namespace ordo
