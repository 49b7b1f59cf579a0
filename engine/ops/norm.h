// SPDX-License-Identifier: MIT
// Normalisation of rows.
#pragma once

#include "rows.h"

namespace ordo {

enum class Norm { rms, layer }; // Zhang and Sennrich 2019; Ba, Kiros and Hinton 2016

// y = x / sqrt(mean(x^2) + eps) * weight, row by row; y may be x. x, y [n, d], weight [1, d].
void rms_norm(View x, View weight, float eps, View y);
// y = (x - mean(x)) / sqrt(var(x) + eps) * weight + bias; the variance is the biased one. bias may have no data.
void layer_norm(View x, View weight, View bias, float eps, View y);
// Either; bias is ignored by Norm::rms.
void norm(Norm kind, View x, View weight, View bias, float eps, View y);

// x: the input of the norm; dy: the gradient of its output. Writes the gradient of the input to dx, or adds it; dx may
// be dy. Adds to d_weight [1, d], and to d_bias [1, d] if it has data.
void norm_backward(Norm kind, View x, View weight, float eps, View dy, View dx, bool accumulate, View d_weight,
                   View d_bias);

} // namespace ordo
