// SPDX-License-Identifier: MIT
#include "formats/tensor_store.h"

#include "core/error.h"
#include "io/checked.h"

#include <algorithm>
#include <cstring>

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

void TensorStore::add_doubles(FileTensor tensor, Read read) {
    const Place place = files_[tensor.file];
    tensor.type = WeightType::f32;
    tensor.bytes /= 2;
    tensor.offset = 0;
    tensor.file = add_file(
        place.where, 0,
        [read = std::move(read)](std::uint64_t offset, std::span<std::byte> out) {
            std::vector<double> doubles(std::min<std::size_t>(out.size() / sizeof(float), 32'768));
            for (std::size_t done = 0; done < out.size();) {
                const std::span in(doubles.data(), std::min((out.size() - done) / sizeof(float), doubles.size()));
                read(2 * (offset + done), std::as_writable_bytes(in));
                for (const double value : in) {
                    const auto single = static_cast<float>(value);
                    std::memcpy(&out[done], &single, sizeof single);
                    done += sizeof single;
                }
            }
        },
        place.types);
    add(std::move(tensor));
}

void TensorStore::remove_prefix(std::string_view prefix) {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
        std::string& name = tensors_[i].name;
        if (!name.starts_with(prefix) || !by_name_.emplace(name.substr(prefix.size()), i).second) continue;
        by_name_.erase(name);
        name.erase(0, prefix.size());
    }
}

void TensorStore::rename(FileTensor& tensor, const std::string& name) {
    if (find(name)) fail(ErrorCode::model, name_of(tensor), ": expected no tensor named '", name, "' beside it");
    by_name_.emplace(name, by_name_.at(tensor.name));
    by_name_.erase(tensor.name);
    tensor.name = name;
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
        "F32, F16, BF16 or F64, or blocks of q8_0 or q4_0 in U8");
    for (const TensorInfo& info : file->tensors()) {
        FileTensor tensor{info.name, info.dtype, float_type(info.dtype), info.shape, info.bytes, info.offset, index};
        if (info.dtype != "F64") {
            store.add(std::move(tensor));
            continue;
        }
        store.add_doubles(std::move(tensor), [file, at = info.offset](std::uint64_t offset, std::span<std::byte> out) {
            file->read_at(at + offset, out);
        });
    }
}

} // namespace ordo
