// SPDX-License-Identifier: MIT
// The memory of a model's tensors, and the types of tensors in it.
#pragma once

#include "core/tensor.h"
#include "layers/matrix.h"

#include <map>
#include <string>

namespace ordo {

// The tensors of a model, in large pieces of memory. Matrices of layers are packed one by one, so that a model never
// takes twice its memory.
class TensorMemory {
public:
    TensorMemory() = default;
    // Zeros, all f32. Throws Error(usage) for a duplicate name, a rank other than 1 and 2, or a size out of range.
    explicit TensorMemory(std::vector<TensorSpec> specs);
    // One type for each tensor. values() allocates the memory.
    TensorMemory(std::vector<TensorSpec> specs, const std::vector<WeightType>& types);
    // Bytes of the values as floats; the same checks.
    static std::uint64_t bytes(std::span<const TensorSpec> specs);

    std::span<const TensorSpec> specs() const { return specs_; }
    std::span<float> values(std::size_t i); // of a tensor that is not packed yet; make_model() packs
    View view(std::size_t i);               // the same; rank 1 as one row
    View view(std::string_view name);       // no data if it is missing
    Matrix matrix(std::string_view name);
    // The memory of a tensor in bytes; 0 if it is missing. Without a name, of all tensors.
    std::uint64_t held_bytes(std::string_view name) const;
    std::uint64_t held_bytes() const;
    // A copy of tensor i as floats, packed or not; or of a tensor that is there by its name.
    void read(std::size_t i, std::span<float> out) const;
    void read(std::string_view name, std::span<float> out) const { read(by_name_.find(name)->second, out); }
    const TensorSpec* find(std::string_view name) const; // null: there is none

    // Packs the values of tensor i into panels of its type, and frees them. Does nothing if packs() is false, or if
    // they are packed already. Throws Error(model) for a weight that the type cannot hold.
    void pack(std::size_t i, const std::string& where);
    // The same from rows of that type in a file's layout, without conversion.
    void pack_blocks(std::size_t i, std::span<const std::byte> rows);
    // Allocates a tensor of one type, or of several block types, which Matrix::pack_blocks() then fills.
    const Matrix& start_blocks(std::size_t i, const std::vector<TypedRows>& bands);

private:
    struct Entry {
        WeightType type = WeightType::f32;
        std::span<float> values;
        Buffer<float> staged; // values that will be packed
        Matrix packed;        // empty until then

        std::uint64_t bytes() const { return packed.packed() ? packed.bytes() : values.size_bytes(); }
    };
    std::byte* take(std::size_t bytes);
    Matrix packed_memory(std::size_t i);

    std::vector<TensorSpec> specs_;
    std::vector<Entry> entries_;
    std::map<std::string, std::size_t, std::less<>> by_name_;
    std::vector<Buffer<std::byte>> pieces_;
    std::size_t used_ = 0; // of the last piece
};

// The type of a tensor in a model whose weights have the wanted type. Vectors and the tensors of encodings stay f32.
// Rows that blocks of 32 do not divide are f16 instead. The embedding and the head matter most and are a small part of
// a large model: with types in blocks of 32 they are q8_0, with blocks of 256 q6_K. Rows that blocks of 256 do not
// divide get the type that llama.cpp's quantiser uses: q4_0 for q2_K and q3_K, q5_0 for q4_K, q5_1 for q5_K, q8_0 for
// q6_K, iq4_nl for iq4_xs.
WeightType type_within(WeightType wanted, const TensorSpec& spec);
// Whether a tensor of that type is packed in panels. These are all tensors that are not f32, and f32 matrices that fill
// a panel, except the tensors of encodings, which are read by rows.
bool packs(WeightType type, const TensorSpec& spec);
// The bytes of a tensor of a type.
std::uint64_t packed_bytes(WeightType type, const TensorSpec& spec);
// The bytes of a model's tensors in the types of type_within().
std::uint64_t packed_bytes(std::span<const TensorSpec> specs, WeightType type);

} // namespace ordo
