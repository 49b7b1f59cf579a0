// SPDX-License-Identifier: MIT
// Rotation of pairs of columns by angles that grow with the position: what the rope family shares.
//   (a, b) -> (a cos t - b sin t, a sin t + b cos t),  t = position * frequency[pair]
// Angles are computed in double and their cosines stored in float.
#pragma once

#include "core/tensor.h"

namespace ordo {

// Which columns of a head make pair k of n: RoFormer and Meta's Llama rotate neighbours (2k, 2k + 1),
// GPT-NeoX and Hugging Face column k with k + n. Trained weights work with one of them only.
enum class Pairing { adjacent, halves };

class Rotation {
public:
    Rotation(std::vector<double> frequencies, Pairing pairing);

    // Cosines and sines of positions 0 .. n_positions - 1; beyond, they are computed at each call.
    void prepare(int n_positions);

    // In place on the first 2 * pairs() columns of each head of x [n, n_heads * d_head]; inverse turns back.
    void apply(View x, int n_heads, Positions positions, bool inverse) const;

    int pairs() const { return static_cast<int>(frequencies_.size()); }
    double frequency(int pair) const { return frequencies_[static_cast<std::size_t>(pair)]; }
    double angle(int position, int pair) const { return position * frequency(pair); }

private:
    void fill(int position, int first_pair, int count, float* cos, float* sin) const;
    void apply_row(float* row, int n_heads, int d_head, int position, bool inverse) const;

    std::vector<double> frequencies_; // radians per position, one for each pair
    Pairing pairing_;
    Buffer<float> table_; // [prepared_, 2 * pairs]: cosines, then sines
    int prepared_ = 0;
};

// The matrix R with y = R x, of rows of pairs: angles[k] turns columns (i, j) = columns(pairing, k, n).
struct PairColumns {
    int first, second;
};
PairColumns pair_columns(Pairing pairing, int pair, int pairs);
// The rotation by angles[k] of pair k as a matrix [size, size]; columns outside the pairs stay.
TableRows rotation_matrix(std::vector<double> angles, Pairing pairing, int size);

} // namespace ordo
