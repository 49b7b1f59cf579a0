// SPDX-License-Identifier: MIT
// Matrix products on OpenBLAS: the only door to cblas.h. Never call these inside a parallel region.
#pragma once

#include "ordo.h"

namespace ordo {

enum class Transpose : bool { no, yes };

// c [m, n] = a [m, k] * b [k, n] + beta * c, where a is stored [k, m] and b [n, k] if transposed.
void gemm(View a, Transpose ta, View b, Transpose tb, View c, float beta = 0);

// Throws Error(failure) if the OpenBLAS that was found at run time does not run on OpenMP: a second
// thread pool would fight the first. Called once when a model is loaded.
void check_blas();

// One line on what computes gemm(), for --version.
std::string blas_description();

} // namespace ordo
