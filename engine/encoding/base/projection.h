// SPDX-License-Identifier: MIT
// Trained projections of the input of a layer's attention, for OBSERVE.
#pragma once

#include "rows.h"

namespace ordo {

// z [n, outputs] = x W^T, for x [n, d] and W [outputs, d]. A row of z has the same bits as that row alone.
void project(View x, View weight, View z);
// The backward pass of z = x W^T, for x [n, d] and W [outputs, d]. Adds to d_weight and to dx. dz [n, outputs * step]
// has the gradient of each output in the first of `step` columns.
void projection_backward(View dz, int step, View x, View weight, View d_weight, View dx);

} // namespace ordo
