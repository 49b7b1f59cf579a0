// SPDX-License-Identifier: MIT
// The tensors of a model in any files: named ranges of bytes. Every container (safetensors, one or many; GGUF;
// llama2.c) becomes a TensorStore, and later code does not depend on the container.
#pragma once

#include "core/weight_type.h"
#include "io/safetensors.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>

namespace ordo {

struct FileTensor {
    std::string name;
    std::string dtype;               // its container's name, for messages: "BF16", "Q4_K"
    std::optional<WeightType> type;  // empty: a type that weights cannot have
    std::vector<std::int64_t> shape; // of weights, slowest axis first, for every container
    std::uint64_t bytes = 0;
    std::uint64_t offset = 0; // in its file
    std::size_t file = 0;     // index of the store's file
    std::uint64_t span = 0;   // bytes that are read to gather scattered elements; 0: they are contiguous

    std::int64_t cols() const { return shape.empty() ? 1 : shape.back(); }
    std::int64_t rows() const; // the product of all axes but the last
};

// The type of a dtype of safetensors, or none if weights cannot have it.
std::optional<WeightType> float_type(std::string_view dtype);

// Tensors, and the files with their data. Reading is const and may be done by many threads.
class TensorStore {
public:
    // Fills out from an offset of a file. Throws Error(io) on failure.
    using Read = std::function<void(std::uint64_t offset, std::span<std::byte> out)>;

    // where names the file in messages, types lists the weight types of its container. Returns the index of the file.
    std::size_t add_file(std::string where, std::uint64_t size, Read read, std::string_view types);
    // The container has checked that the bytes are inside the file, and match the type and shape. Throws Error(model)
    // for a duplicate name.
    void add(FileTensor tensor);
    // Adds a tensor of doubles, whose values become floats when they are read. read: its bytes, from its first value
    // on.
    void add_doubles(FileTensor tensor, Read read);
    // Removes the beginning of the names that have it, unless another tensor has the rest as its name.
    void remove_prefix(std::string_view prefix);
    // Throws Error(model) if another tensor has the name.
    void rename(FileTensor& tensor, const std::string& name);

    std::span<const FileTensor> tensors() const { return tensors_; }
    std::span<FileTensor> tensors() { return tensors_; }
    const FileTensor* find(std::string_view name) const; // nullptr if absent
    FileTensor* find(std::string_view name);
    // "FILE: tensor 'NAME'", for messages.
    std::string name_of(const FileTensor& tensor) const;
    const std::string& where(const FileTensor& tensor) const { return files_[tensor.file].where; }
    std::string_view types(const FileTensor& tensor) const { return files_[tensor.file].types; }
    std::uint64_t size() const; // of all files

    // Reads the stored bytes of a tensor from `first` on, on the calling thread alone.
    void read(const FileTensor& tensor, std::uint64_t first, std::span<std::byte> out) const;

private:
    struct Place {
        std::string where;
        std::uint64_t size;
        Read read;
        std::string_view types;
    };
    std::vector<Place> files_;
    std::vector<FileTensor> tensors_;
    std::map<std::string, std::size_t, std::less<>> by_name_;
};

// Adds the tensors of a safetensors file, which the store keeps open. U8 and other types that are not floats have no
// type.
void add_safetensors(TensorStore& store, const std::shared_ptr<const Safetensors>& file);

} // namespace ordo
