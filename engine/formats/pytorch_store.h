// SPDX-License-Identifier: MIT
#pragma once

#include "formats/tensor_store.h"
#include "io/pytorch.h"

namespace ordo {

// The tensors of a file of PyTorch's, which the store keeps open. Booleans, whole numbers and doubles have no type.
void add_pytorch(TensorStore& store, const std::shared_ptr<const PytorchFile>& file);

} // namespace ordo
