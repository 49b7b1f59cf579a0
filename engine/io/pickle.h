// SPDX-License-Identifier: MIT
// The tensors that a pickle of PyTorch's names: torch.save() of a state dictionary. Nothing is executed. The reader
// knows the opcodes that put together numbers, texts, tuples, lists and dictionaries (Python's pickletools), and the
// few names that rebuild tensors (PyTorch's torch/_utils.py); it refuses every other opcode and name. It does not
// recurse, so that no depth exhausts the stack, and it makes at most one value for each opcode.
#pragma once

#include "ordo.h"

#include <string>
#include <string_view>
#include <vector>

namespace ordo {

struct PickleLimits {
    std::size_t bytes = std::size_t{16} << 20;
    std::size_t values = std::size_t{1} << 20;
    std::size_t tensors = 65'536;
    std::size_t name_bytes = 256; // of a tensor
    std::size_t rank = 64;
};

// Elements of a storage: that at index (i, j, ...) is element offset + i strides[0] + j strides[1] + ...
struct PickledTensor {
    std::string name;
    std::string storage;                // its key
    std::string_view dtype;             // of the storage, as safetensors calls it: "F32", "BF16", "I64"
    std::uint64_t storage_elements = 0; // as the pickle has them
    std::uint64_t offset = 0;
    std::vector<std::int64_t> shape, strides; // at least 0
};

// In the order of the dictionary. Throws Error(model) that begins with `where`.
std::vector<PickledTensor> read_pickled_tensors(std::string_view pickle, std::string_view where,
                                                const PickleLimits& limits = {});

} // namespace ordo
