// SPDX-License-Identifier: MIT
// Whether an encoding has the gradients that its training needs.
#pragma once

#include "encoding.h"

namespace ordo {

// The moments of an encoding that need a backward. These are all, except a bias and a sink that read nothing if no
// tensor is trained.
unsigned backward_moments(const Encoding& encoding);

// Throws Error(usage), with the encoding's name and its trained tensor, if a moment lacks a backward that it needs, or
// if no moment gives the tensor a gradient.
void check_trainable(const Encoding& encoding);

} // namespace ordo
