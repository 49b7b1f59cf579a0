// SPDX-License-Identifier: MIT
// Rotation of pairs of columns by angles that grow with the position, shared by the RoPE family.
//   (a, b) -> g (a cos t - b sin t, a sin t + b cos t),  t = position * frequency[pair]
// Angles are computed in double. The table stores their cosines and sines times g as floats, so g costs nothing.
#pragma once

#include "encoding.h"
#include "encoding/base/position_rows.h"

namespace ordo {

// The columns of a head that form pair k of n. RoFormer and Meta's Llama rotate neighbours (2k, 2k + 1), GPT-NeoX and
// Hugging Face column k with k + n. Trained weights work with only one of the two.
enum class Pairing { adjacent, halves };

// The rotation of each pair.
struct PairTurns {
    std::vector<double> frequencies; // radians per position
    double factor = 1;               // g = factor * exp(position * growth[pair])
    std::vector<double> growth = {}; // empty: none
    std::vector<int> axes = {};      // the position axis of each pair; empty: all on the first
};

class Rotation {
public:
    Rotation(PairTurns turns, Pairing pairing);

    // Computes the cosines and sines of positions 0 .. n_positions - 1. Later positions are computed at each call.
    void prepare(int n_positions);

    // Rotates in place the first 2 * pairs() columns of each head of x [n, n_heads * d_head]. transposed: multiplies
    // with the transpose of the matrix, which rotates back.
    void apply(View x, int n_heads, Positions positions, bool transposed) const;
    // Changes in place the result of apply() at some positions on one axis to its result at positions less by `by`.
    void move(View x, int n_heads, int by) const;

    int pairs() const { return static_cast<int>(turns_.frequencies.size()); }
    double frequency(int pair) const { return turns_.frequencies[pair]; }
    double angle(int position, int pair) const { return position * frequency(pair); }
    double gain(int position, int pair) const;
    int axis(int pair) const { return turns_.axes.empty() ? 0 : turns_.axes[pair]; }

private:
    void fill(int position, int first_pair, int count, float* cos, float* sin) const;
    void fill_axes(Positions positions, std::size_t row, int first_pair, int count, float* cos, float* sin) const;
    void turn(float* row, int n_heads, int d_head, int first, int count, const float* cos, const float* sin,
              float direction) const;
    void apply_row(float* row, int n_heads, int d_head, int position, float direction) const;
    void apply_axes(float* row, int n_heads, int d_head, Positions positions, std::size_t i, float direction) const;

    PairTurns turns_;
    Pairing pairing_;
    PositionRows table_; // [.., 2 * pairs]: cosines, then sines, times g
};

// The two columns of pair k of n.
struct PairColumns {
    int first, second;
};
PairColumns pair_columns(Pairing pairing, int pair, int pairs);
// The matrix R [size, size], y = R x, that rotates pair k by angles[k] and scales pairs by gain. Other columns stay.
TableRows rotation_matrix(std::vector<double> angles, Pairing pairing, int size, double gain = 1);

} // namespace ordo
