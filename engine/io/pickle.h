// SPDX-License-Identifier: MIT
// The tensors in a pickle of PyTorch, from torch.save() of a state dictionary. Nothing is executed. The reader knows
// the opcodes that build numbers, texts, tuples, lists and dictionaries (Python's pickletools), and the few names that
// rebuild tensors (PyTorch's torch/_utils.py). It refuses every other opcode and name. It does not recurse, so that no
// depth exhausts the stack, and it counts the memory of each value.
#pragma once

#include "rows.h"

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

// A storage that a pickle refers to. The key is a part of the pickle's text.
struct PickledStorage {
    std::string_view key, dtype;
};

struct PickledDictionary {
    std::vector<PickledTensor> tensors; // in the order of the dictionary
    std::vector<PickledStorage> storages;
};

// The tensors of a state dictionary. It may lie in a dictionary that says more about a training, under "state_dict",
// "model_state_dict", "model" or "module". Each function throws Error(model) that begins with `where`. The pickle
// begins the text, and `size`, if given, gets its bytes: files before PyTorch 1.6 hold several in a row.
PickledDictionary read_pickled_tensors(std::string_view text, std::string_view where, const PickleLimits& limits = {},
                                       std::size_t* size = nullptr);
// A list of texts, which are parts of the pickle's text; at most as many as tensors.
std::vector<std::string_view> read_pickled_texts(std::string_view text, std::string_view where,
                                                 const PickleLimits& limits = {}, std::size_t* size = nullptr);
// The bytes of a pickle of any value.
std::size_t pickle_size(std::string_view text, std::string_view where, const PickleLimits& limits = {});

} // namespace ordo
