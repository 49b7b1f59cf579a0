// SPDX-License-Identifier: MIT
// Muon (Jordan et al. 2024, "Muon: An optimizer for hidden layers in neural networks"). The step of a matrix is its
// momentum made orthogonal, so that all its directions learn equally fast.
#pragma once

#include "core/tensor.h"
#include "model/blueprint.h"
#include "ops/pair_products.h"

#include <optional>

namespace ordo {

// Rows of a tensor that form one matrix: queries, keys and values are stored as one tensor, gate and up as another.
struct MatrixRows {
    int tensor; // index in the blueprint's list
    int first, rows;
};

// The matrices of the layers, in the order of tensor_list(). The embedding, the head and routers are excluded: rows of
// the first two are used one at a time. Jordan et al. leave them to AdamW. The tables of encodings are like embeddings.
std::vector<MatrixRows> hidden_matrices(const Blueprint& blueprint);

// Makes x [m, n] nearly orthogonal: U V^T of its singular value decomposition U S V^T. It runs five steps of the
// quintic Newton-Schulz iteration of Jordan et al., whose coefficients leave singular values between about 0.7 and 1.2.
class Orthogonaliser {
public:
    // For matrices whose smaller and larger sides are at most these.
    explicit Orthogonaliser(int smaller, int larger);
    static std::size_t floats(int smaller, int larger); // of its memory
    // Memory for a matrix to make orthogonal.
    View matrix(int rows, int cols) { return view(matrix_.data(), rows, cols); }
    void operator()(View x);
    // From this call on, products round to bf16 and sum in f32, if PairProducts::available(). Jordan et al. round the
    // matrix itself too.
    void multiply_pairs() { pairs_.emplace().reserve(larger_, larger_); }

private:
    void multiply(View a, Transpose ta, View b, Transpose tb, View c, float beta = 0);

    int larger_;
    std::optional<PairProducts> pairs_; // none: f32
    Buffer<float> gram_, polynomial_, product_, matrix_;
};

} // namespace ordo
