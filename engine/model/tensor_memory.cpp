// SPDX-License-Identifier: MIT
#include "model/tensor_memory.h"

#include "core/error.h"
#include "core/parallel.h"
#include "kernels/kernels.h"
#include "model/model_access.h"

#include <algorithm>
#include <bit>

namespace ordo {
namespace {

std::uint64_t padded_elements(const TensorSpec& spec) {
    if (spec.shape.empty() || spec.shape.size() > 2)
        fail(ErrorCode::usage, "tensor '", printable(spec.name), "': expected rank 1 or 2, found ", spec.shape.size());
    std::uint64_t elements = 1;
    for (const std::int64_t size : spec.shape) {
        constexpr std::int64_t most = std::numeric_limits<int>::max();
        if (size < 1 || size > most)
            fail(ErrorCode::usage, "tensor '", printable(spec.name), "': expected sizes from 1 to ", most, ", found ",
                 size);
        elements *= static_cast<std::uint64_t>(size); // below 2^62
    }
    constexpr std::uint64_t line = 16; // floats in 64 bytes
    return (elements + line - 1) / line * line;
}

std::uint64_t elements(const TensorSpec& spec) {
    std::uint64_t n = 1;
    for (const std::int64_t size : spec.shape) n *= static_cast<std::uint64_t>(size);
    return n;
}

constexpr std::size_t least_piece = std::size_t{16} << 20;

std::size_t whole_lines(std::size_t bytes) {
    return (bytes + 63) / 64 * 64;
}

} // namespace

std::uint64_t TensorMemory::bytes(std::span<const TensorSpec> specs) {
    std::uint64_t floats = 0;
    for (const TensorSpec& spec : specs) {
        const std::uint64_t elements = padded_elements(spec);
        if (elements > (std::uint64_t{1} << 60) - floats) fail(ErrorCode::limit, "tensors: more than 2^62 bytes");
        floats += elements;
    }
    return floats * sizeof(float);
}

TensorMemory::TensorMemory(std::vector<TensorSpec> specs) {
    std::vector<WeightType> types(specs.size(), WeightType::f32);
    *this = TensorMemory(std::move(specs), types);
    pieces_.clear(); // matrices are staged until they are packed
    for (std::size_t i = 0; i < specs_.size(); ++i) values(i);
}

TensorMemory::TensorMemory(std::vector<TensorSpec> specs, const std::vector<WeightType>& types)
    : specs_(std::move(specs)), entries_(specs_.size()) {
    bytes(specs_);
    std::size_t all = 0;
    for (std::size_t i = 0; i < specs_.size(); ++i) {
        if (!by_name_.emplace(specs_[i].name, i).second)
            fail(ErrorCode::usage, "tensor '", printable(specs_[i].name), "': expected one of this name, found two");
        entries_[i].type = types[i];
        all += whole_lines(packed_bytes(types[i], specs_[i]));
    }
    // One piece for all of them: the remainder of a piece may be on a huge page, and then takes memory.
    pieces_.emplace_back(std::max(all, least_piece));
}

// Returns zeros, aligned to 64 bytes. Pieces are large enough for huge pages; untouched memory takes no space.
std::byte* TensorMemory::take(std::size_t bytes) {
    bytes = whole_lines(bytes);
    if (pieces_.empty() || bytes > pieces_.back().size() - used_) {
        pieces_.emplace_back(std::max(bytes, least_piece));
        used_ = 0;
    }
    std::byte* const at = pieces_.back().data() + used_;
    used_ += bytes;
    return at;
}

std::span<float> TensorMemory::values(std::size_t i) {
    Entry& entry = entries_[i];
    if (entry.packed.packed())
        fail(ErrorCode::failure, "tensor '", printable(specs_[i].name), "': is packed, expected floats");
    if (entry.values.empty()) {
        const auto n = static_cast<std::size_t>(elements(specs_[i]));
        if (!packs(entry.type, specs_[i])) {
            entry.values = {reinterpret_cast<float*>(take(n * sizeof(float))), n};
        } else {
            entry.staged = Buffer<float>(n);
            entry.values = entry.staged;
        }
    }
    return entry.values;
}

View TensorMemory::view(std::size_t i) {
    const auto& shape = specs_[i].shape;
    return ordo::view(values(i).data(), shape.size() == 1 ? 1 : static_cast<int>(shape[0]),
                      static_cast<int>(shape.back()));
}

std::uint64_t TensorMemory::held_bytes(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? 0 : entries_[found->second].bytes();
}

std::uint64_t TensorMemory::held_bytes() const {
    std::uint64_t all = 0;
    for (const Entry& entry : entries_) all += entry.bytes();
    return all;
}

void TensorMemory::read(std::size_t i, std::span<float> out) const {
    const Entry& entry = entries_[i];
    if (!entry.packed.packed()) {
        std::copy(entry.values.begin(), entry.values.end(), out.begin());
        return;
    }
    for (int row = 0; row < entry.packed.rows(); ++row)
        entry.packed.row(row, out.data() + static_cast<std::ptrdiff_t>(row) * entry.packed.cols());
}

const TensorSpec* TensorMemory::find(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : &specs_[found->second];
}

View TensorMemory::view(std::string_view name) {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? View{} : view(found->second);
}

Matrix TensorMemory::matrix(std::string_view name) {
    const std::size_t i = by_name_.at(std::string(name));
    return entries_[i].packed.packed() ? entries_[i].packed : Matrix(view(i));
}

Matrix TensorMemory::packed_memory(std::size_t i) {
    const auto rows = static_cast<int>(specs_[i].shape[0]), cols = static_cast<int>(specs_[i].shape[1]);
    const WeightType type = entries_[i].type;
    return {type, rows, cols, take(static_cast<std::size_t>(Matrix::bytes(type, rows, cols)))};
}

void TensorMemory::pack_blocks(std::size_t i, std::span<const std::byte> rows) {
    start_blocks(i, {{entries_[i].type, static_cast<int>(specs_[i].shape[0])}}).pack_blocks(rows);
}

const Matrix& TensorMemory::start_blocks(std::size_t i, const std::vector<TypedRows>& bands) {
    Entry& entry = entries_[i];
    const auto cols = static_cast<int>(specs_[i].shape[1]);
    entry.packed = {bands, cols, take(static_cast<std::size_t>(Matrix::bytes(bands, cols)))};
    entry.values = {};
    entry.staged = {};
    return entry.packed;
}

void TensorMemory::pack(std::size_t i, const std::string& where) {
    Entry& entry = entries_[i];
    if (entry.packed.packed() || !packs(entry.type, specs_[i])) return;
    const View f32 = view(i);
    const Matrix packed = packed_memory(i);
    if (!packed.pack(f32))
        fail(ErrorCode::model, where, ": tensor '", printable(specs_[i].name), "': has weights that ",
             name_of(entry.type), " cannot hold");
    entry.packed = packed;
    entry.values = {};
    entry.staged = {};
}

namespace {

// The type that llama.cpp's quantiser uses for rows that blocks of 256 do not divide.
WeightType in_small_blocks(WeightType type) {
    switch (type) {
    case WeightType::q2_K:
    case WeightType::q3_K:
        return WeightType::q4_0;
    case WeightType::iq4_xs:
        return WeightType::iq4_nl;
    case WeightType::q4_K:
        return WeightType::q5_0;
    case WeightType::q5_K:
        return WeightType::q5_1;
    case WeightType::q6_K:
        return WeightType::q8_0;
    default:
        return type;
    }
}

} // namespace

WeightType type_within(WeightType wanted, const TensorSpec& spec) {
    if (spec.shape.size() != 2 || of_encoding(spec.name)) return WeightType::f32;
    if (!quantised(wanted)) return wanted;
    if (spec.shape[1] % quant_block != 0) return WeightType::f16;
    const bool large_blocks = block_size(wanted) > quant_block, whole = spec.shape[1] % block_size(wanted) == 0;
    const bool outer = spec.name == "embedding.weight" || spec.name == "head.weight";
    if (outer) return large_blocks && whole ? WeightType::q6_K : WeightType::q8_0;
    if (!whole) return in_small_blocks(wanted);
    return wanted;
}

bool packs(WeightType type, const TensorSpec& spec) {
    if (type != WeightType::f32) return true;
    return spec.shape.size() == 2 && spec.shape[0] >= panel_outputs && !of_encoding(spec.name);
}

std::uint64_t packed_bytes(WeightType type, const TensorSpec& spec) {
    if (!packs(type, spec)) return sizeof(float) * elements(spec);
    return Matrix::bytes(type, static_cast<int>(spec.shape[0]), static_cast<int>(spec.shape[1]));
}

std::uint64_t packed_bytes(std::span<const TensorSpec> specs, WeightType type) {
    std::uint64_t bytes = 0;
    for (const TensorSpec& spec : specs) {
        padded_elements(spec);
        bytes += packed_bytes(type_within(type, spec), spec);
    }
    return bytes;
}

} // namespace ordo
