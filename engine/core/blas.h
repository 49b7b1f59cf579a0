// SPDX-License-Identifier: MIT
// Matrix products on OpenBLAS. Only this module includes cblas.h. OpenBLAS multiplies tiles, each on the calling
// thread. Its own threads would split sums by their number, so they are never used.
#pragma once

#include "rows.h"

namespace ordo {

enum class Transpose : bool { no, yes };

// c [m, n] = a [m, k] * b [k, n] + beta * c, where a is stored [k, m] and b [n, k] if transposed. The work is shared
// among the threads of a team (core/parallel.h), also when called within one. The result has the same bits for any
// number of threads. Outside a team, throws Error(limit) if OpenBLAS has no memory and cannot get any.
void gemm(View a, Transpose ta, View b, Transpose tb, View c, float beta = 0);

// Throws Error(failure) if the OpenBLAS found at run time does not use OpenMP: a second thread pool would compete with
// the first. Called once when a model is loaded.
void check_blas();

// Throws Error(limit) if OpenBLAS cannot get memory for a product. After it, gemm() does not throw, in a team either.
// Where memory is short, threads wait for each other's buffers.
void reserve_blas();

// One line on the library behind gemm(), for --version.
std::string blas_description();

namespace detail {

// The tiles of c [m, n]: rows x cols tiles of equal size, except the last. Depends on the sizes alone.
struct Tiles {
    int rows, cols; // of tiles
};
Tiles tiles_of(int m, int n, int k);

} // namespace detail
} // namespace ordo
