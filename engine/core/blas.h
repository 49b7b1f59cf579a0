// SPDX-License-Identifier: MIT
// Matrix products on OpenBLAS: the only door to cblas.h. OpenBLAS multiplies tiles, each on the thread that calls
// it; its own threads, which would cut sums where their number tells them to, are never asked for.
#pragma once

#include "ordo.h"

namespace ordo {

enum class Transpose : bool { no, yes };

// c [m, n] = a [m, k] * b [k, n] + beta * c, where a is stored [k, m] and b [n, k] if transposed. Shared out among
// the threads of a team (core/parallel.h), within one too; the same bits for any number of them. Throws Error(limit)
// outside of a team if OpenBLAS has no memory and cannot get any.
void gemm(View a, Transpose ta, View b, Transpose tb, View c, float beta = 0);

// Throws Error(failure) if the OpenBLAS that was found at run time does not run on OpenMP: a second
// thread pool would fight the first. Called once when a model is loaded.
void check_blas();

// Throws Error(limit) if OpenBLAS cannot have memory for a product; afterwards gemm() does not throw, in a team
// either. Where memory is short, threads wait for each other's rather than take more.
void reserve_blas();

// One line on what computes gemm(), for --version.
std::string blas_description();

namespace detail {

// How c [m, n] is cut: rows x cols tiles of equal size but for the last. Depends on the sizes alone.
struct Tiles {
    int rows, cols; // of tiles
};
Tiles tiles_of(int m, int n, int k);

} // namespace detail
} // namespace ordo
