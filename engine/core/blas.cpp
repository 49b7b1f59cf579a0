// SPDX-License-Identifier: MIT
#include "core/blas.h"

#include "core/error.h"

#ifdef ORDO_INTERNAL_GEMM // no OpenBLAS: for the thread sanitizer, which must see every instruction

#include "core/parallel.h"

namespace ordo {

void gemm(View a, Transpose ta, View b, Transpose tb, View c, float beta) {
    const int k = ta == Transpose::no ? a.cols : a.rows;
    parallel_for(c.rows, 1, [&](std::ptrdiff_t row) {
        const int i = static_cast<int>(row);
        float* out = c.row(i);
        for (int j = 0; j < c.cols; ++j) out[j] = beta == 0 ? 0 : beta * out[j];
        for (int l = 0; l < k; ++l) {
            const float s = ta == Transpose::no ? a.row(i)[l] : a.row(l)[i];
            for (int j = 0; j < c.cols; ++j) out[j] += s * (tb == Transpose::no ? b.row(l)[j] : b.row(j)[l]);
        }
    });
}

void check_blas() {}
std::string blas_description() {
    return "internal";
}

} // namespace ordo

#else

#include <cblas.h>

namespace ordo {

void gemm(View a, Transpose ta, View b, Transpose tb, View c, float beta) {
    const int k = ta == Transpose::no ? a.cols : a.rows;
    cblas_sgemm(CblasRowMajor, ta == Transpose::no ? CblasNoTrans : CblasTrans,
                tb == Transpose::no ? CblasNoTrans : CblasTrans, c.rows, c.cols, k, 1.0f, a.data,
                static_cast<int>(a.stride), b.data, static_cast<int>(b.stride), beta, c.data,
                static_cast<int>(c.stride));
}

void check_blas() {
    static constexpr int openmp = 2; // OPENBLAS_OPENMP
    const int found = openblas_get_parallel();
    if (found != openmp)
        fail(ErrorCode::failure, "OpenBLAS: expected the OpenMP flavour (parallel = ", openmp,
             "), found parallel = ", found, found == 1 ? " (pthreads)" : " (serial)",
             "; install libopenblas0-openmp and do not preload another flavour");
}

std::string blas_description() {
    return std::string(openblas_get_config()) + (openblas_get_parallel() == 2 ? " OpenMP" : " not OpenMP");
}

} // namespace ordo

#endif
