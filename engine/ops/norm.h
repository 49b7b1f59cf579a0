// SPDX-License-Identifier: MIT
// Normalisation of rows.
#pragma once

#include "ordo.h"

namespace ordo {

enum class Norm { rms, layer }; // Zhang and Sennrich 2019; Ba, Kiros and Hinton 2016

// y = x / sqrt(mean(x^2) + eps) * weight, row by row; y may be x. x, y [n, d], weight [1, d].
void rms_norm(View x, View weight, float eps, View y);
// y = (x - mean(x)) / sqrt(var(x) + eps) * weight + bias; the variance is the biased one. bias may have no data.
void layer_norm(View x, View weight, View bias, float eps, View y);
// Either; bias is ignored by Norm::rms.
void norm(Norm kind, View x, View weight, View bias, float eps, View y);

// x: what the norm was given; dy: the gradient after it. dx = the gradient before it, or that is added; dx may be dy.
// d_weight, and d_bias if it has data, [1, d], are added to.
void norm_backward(Norm kind, View x, View weight, float eps, View dy, View dx, bool accumulate, View d_weight,
                   View d_bias);

} // namespace ordo
