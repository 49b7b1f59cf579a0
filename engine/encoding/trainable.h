// SPDX-License-Identifier: MIT
// Whether an encoding has the gradients that training it needs.
#pragma once

#include "encoding/registry.h"

namespace ordo {

// Calls each backward that is needed, with no rows, for one layer that the encoding acts in; it has its tensors. Throws
// Error(usage) naming the encoding and the moment, if that backward throws; or the tensor, if it is trained and no moment would
// give it a gradient.
void check_trainable(const Encoding& encoding, const Dims& dims, int layer);

} // namespace ordo
