// SPDX-License-Identifier: MIT
#include "formats/tensor_store.h"

#include "core/error.h"
#include "io/checked.h"

namespace ordo {
std::optional<WeightType> float_type(std::string_view dtype) {
    if (dtype == "F32") return WeightType::f32;
    if (dtype == "F16") return WeightType::f16;
    if (dtype == "BF16") return WeightType::bf16;
    return std::nullopt;
}

std::int64_t FileTensor::rows() const {
    std::int64_t n = 1;
    for (std::size_t i = 0; i + 1 < shape.size(); ++i) n *= shape[i]; // at most its bytes, which are checked
    return n;
}

std::size_t TensorStore::add_file(std::string where, std::uint64_t size, Read read, std::string_view types) {
    files_.push_back({std::move(where), size, std::move(read), types});
    return files_.size() - 1;
}

void TensorStore::add(FileTensor tensor) {
    const auto [at, added] = by_name_.emplace(tensor.name, tensors_.size());
    if (!added) {
        const FileTensor& other = tensors_[at->second];
        fail(ErrorCode::model, name_of(tensor), ": expected in one file, found in ", where(other), " too");
    }
    tensors_.push_back(std::move(tensor));
}

const FileTensor* TensorStore::find(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : &tensors_[found->second];
}

FileTensor* TensorStore::find(std::string_view name) {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : &tensors_[found->second];
}

std::string TensorStore::name_of(const FileTensor& tensor) const {
    return where(tensor) + ": tensor '" + printable(tensor.name) + "'";
}

std::uint64_t TensorStore::size() const {
    std::uint64_t bytes = 0;
    for (const Place& file : files_) bytes += file.size;
    return bytes;
}

void TensorStore::read(const FileTensor& tensor, std::uint64_t first, std::span<std::byte> out) const {
    if (!((Checked(first) + Checked(out.size())) <= Checked(tensor.bytes)))
        fail(ErrorCode::failure, name_of(tensor), ": asked for ", out.size(), " bytes from ", first, " on, of ",
             tensor.bytes);
    files_[tensor.file].read(tensor.offset + first, out);
}

void add_safetensors(TensorStore& store, const std::shared_ptr<const Safetensors>& file) {
    const std::size_t index = store.add_file(
        file->where(), file->size(),
        [file](std::uint64_t offset, std::span<std::byte> out) { file->read_at(offset, out); },
        "F32, F16 or BF16, or blocks of q8_0 or q4_0 in U8");
    for (const TensorInfo& info : file->tensors())
        store.add({info.name, info.dtype, float_type(info.dtype), info.shape, info.bytes, info.offset, index});
}

} // namespace ordo
