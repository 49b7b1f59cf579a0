// SPDX-License-Identifier: MIT
// Products of f32 matrices, rounded to bf16, where the kernels multiply pairs of bf16 with sums in f32. This mixed
// precision (Micikevicius et al. 2018, arXiv 1710.03740; Kalamkar et al. 2019, arXiv 1905.12322) speeds up training.
#pragma once

#include "core/blas.h"
#include "core/tensor.h"

namespace ordo {

class PairProducts {
public:
    static bool available(); // in the selected kernels

    // c = a * b, or c + a * b if beta is not 0. The same bits for any number of threads. Call it outside a team, or
    // within a loop.
    void operator()(View a, Transpose ta, View b, Transpose tb, View c, float beta = 0);
    // Takes the memory for products c of at most these sizes, so that they take none.
    void reserve(int rows, int outputs);
    static std::size_t floats(int rows, int outputs); // of this memory

private:
    using Word = std::uint32_t; // two neighbours along k, as bf16

    void round(View a, Transpose ta, View b, Transpose tb, int first, int count, View c); // `count` of k
    void multiply(View c, int count, bool add) const;

    Buffer<Word> rows_;   // [rows of c][depth / 2]
    Buffer<Word> panels_; // [panels of c's columns][depth / 2][32]
};

} // namespace ordo
