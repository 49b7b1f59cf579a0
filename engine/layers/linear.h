// SPDX-License-Identifier: MIT
#pragma once

#include "ordo.h"

namespace ordo {

struct Linear {
    View weight; // [m, k]
    View bias;   // [1, m], or no data
};

// y [n, m] = x [n, k] * weight^T + bias. One row (decoding) runs on our own kernels, more on BLAS.
void linear(View x, const Linear& w, View y);

} // namespace ordo
