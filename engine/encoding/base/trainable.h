// SPDX-License-Identifier: MIT
// Whether an encoding has the gradients that training it needs.
#pragma once

#include "ordo.h"

namespace ordo {

// The moments of an encoding that need a backward: all, except a bias that reads nothing and a sink if no tensor is
// trained.
unsigned backward_moments(const Encoding& encoding);

// Throws Error(usage), naming the encoding and the tensor that is trained, if a moment lacks a backward that it needs
// or no moment would give the tensor a gradient.
void check_trainable(const Encoding& encoding);

} // namespace ordo
