// SPDX-License-Identifier: MIT
// The tensors of a model as somebody's files hold them: named ranges of bytes. Every container (safetensors, one or
// many; GGUF; llama2.c) becomes one of these, and nothing above knows which it was.
#pragma once

#include "core/weight_type.h"
#include "io/safetensors.h"

#include <functional>
#include <map>
#include <optional>

namespace ordo {

struct FileTensor {
    std::string name;
    std::string dtype;               // as its container calls it, for messages: "BF16", "Q4_K"
    std::optional<WeightType> type;  // none: no type that weights can have
    std::vector<std::int64_t> shape; // of weights, slowest axis first, whatever order the container has
    std::uint64_t bytes = 0;
    std::uint64_t offset = 0; // in its file
    std::size_t file = 0;     // of the store's

    std::int64_t cols() const { return shape.empty() ? 1 : shape.back(); }
    std::int64_t rows() const; // the product of all axes but the last
};

// Tensors and the files that they lie in. Reading is const and may be done by many threads.
class TensorStore {
public:
    // Fills out from an offset of a file on. Throws Error(io) if it cannot.
    using Read = std::function<void(std::uint64_t offset, std::span<std::byte> out)>;

    // where names the file in messages, types those of its container that weights can have; returns its index.
    std::size_t add_file(std::string where, std::uint64_t size, Read read, std::string_view types);
    // The container has checked that its bytes lie in its file and are those of its type and shape. Throws Error(model)
    // for a name twice.
    void add(FileTensor tensor);

    std::span<const FileTensor> tensors() const { return tensors_; }
    std::span<FileTensor> tensors() { return tensors_; }
    const FileTensor* find(std::string_view name) const; // nullptr if absent
    FileTensor* find(std::string_view name);
    // "FILE: tensor 'NAME'", for messages.
    std::string name_of(const FileTensor& tensor) const;
    const std::string& where(const FileTensor& tensor) const { return files_[tensor.file].where; }
    std::string_view types(const FileTensor& tensor) const { return files_[tensor.file].types; }
    std::uint64_t size() const; // of all files

    // Bytes of a tensor as they are stored, from `first` on, by the calling thread alone.
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

// The tensors of a safetensors file, which the store keeps open. U8 and whatever else is no float has no type.
void add_safetensors(TensorStore& store, const std::shared_ptr<const Safetensors>& file);

} // namespace ordo
