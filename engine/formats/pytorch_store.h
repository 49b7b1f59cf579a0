// SPDX-License-Identifier: MIT
#pragma once

#include "formats/tensor_store.h"
#include "io/pytorch.h"

#include <memory>

namespace ordo {

// Adds the tensors of a PyTorch file, which the store keeps open. Bools and integers have no type.
void add_pytorch(TensorStore& store, const std::shared_ptr<const PytorchFile>& file);

} // namespace ordo
