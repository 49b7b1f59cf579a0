// SPDX-License-Identifier: MIT
// The tensors in a pickle of PyTorch, from torch.save() of a state dictionary. Nothing is executed. The reader knows
// the opcodes that build numbers, texts, tuples, lists and dictionaries (Python's pickletools), and the few names that
// rebuild tensors (PyTorch's torch/_utils.py). It refuses every other opcode and name. It does not recurse, so that no
// depth exhausts the stack, and it counts the memory of each value.
#pragma once

#include "ordo.h"

#include <string>
#include <string_view>
#include <vector>

namespace ordo {

struct PickleLimits {
    std::size_t bytes = std::size_t{16} << 20;
    std::size_t memory = std::size_t{24} << 20; // for the values and the tensors, besides twice the pickle's size
    std::size_t tensors = 65'536;
    std::size_t name_bytes = 256; // of a tensor
    std::size_t rank = 64;
};

// A tensor in a storage: its element (i, j, ...) is element offset + i strides[0] + j strides[1] + ... of the storage.
struct PickledTensor {
    std::string name;
    std::string storage;                // its key
    std::string_view dtype;             // of the storage, by its safetensors name: "F32", "BF16", "I64"
    std::uint64_t storage_elements = 0; // according to the pickle
    std::uint64_t offset = 0;
    std::vector<std::int64_t> shape, strides; // at least 0
};

// In the order of the dictionary. Throws Error(model) that begins with `where`.
std::vector<PickledTensor> read_pickled_tensors(std::string_view pickle, std::string_view where,
                                                const PickleLimits& limits = {});

} // namespace ordo
