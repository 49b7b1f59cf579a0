// SPDX-License-Identifier: MIT
// Activation functions of feed-forward layers.
#pragma once

#include "rows.h"

namespace ordo {

// relu: max(x, 0). gelu: x Phi(x) by erf, gelu_tanh: its approximation (Hendrycks and Gimpel, arXiv
// 1606.08415). silu: x / (1 + exp(-x)) (Elfwing, Uchibe and Doya, arXiv 1702.03118). relu2: max(x, 0)^2 (So et al.
// 2021, arXiv 2109.08668).
enum class Activation { relu, gelu, gelu_tanh, silu, relu2 };

// y = f(x), element by element; y may be x. x, y [n, d]
void activate(Activation f, View x, View y);
// y = f(gate) * up (Shazeer, arXiv 2002.05202). gate, up, y [n, d]; y may be gate.
void activate_gated(Activation f, View gate, View up, View y);
// The same for x [n, 2 d], which holds the gate, then up.
void activate_gated(Activation f, View x, View y);

// x: the input of activate() [n, d], or of activate_gated() [n, 2 d]; dy [n, d]; writes dx in the shape of x.
void activation_backward(Activation f, bool gated, View x, View dy, View dx);

} // namespace ordo
