// SPDX-License-Identifier: MIT
// One of Ordo's tensors, assembled from those of a file.
#pragma once

#include "formats/name_map.h"
#include "formats/tensor_store.h"
#include "layers/matrix.h"

namespace ordo {

// Rows of one tensor of the file: `take` rows from `first` on, of each group of `stride` rows.
struct TensorPart {
    const FileTensor* from = nullptr;
    bool transposed = false; // [columns, rows] in the file; the whole tensor
    bool plus_one = false;
    std::int64_t groups = 1, stride = 0, first = 0, take = 0;

    std::int64_t rows() const { return groups * take; }
};

// The source of a tensor's values. In a tensor of rank 1 each value is a row of one column.
class Assembly {
public:
    // Finds the parts of a tensor and checks their shapes. Throws Error(code), with why in the message, for a tensor
    // that is missing or has another shape, and Error(model) for a type that weights cannot have. The store must
    // outlive it.
    Assembly(const TensorStore& store, const NameMap& names, const Blueprint& blueprint, const TensorSpec& spec,
             const std::string& where, ErrorCode code = ErrorCode::model, const std::string& why = {});

    // A type that holds all values without loss: that of the parts, or f32 if they differ or need a computation.
    WeightType type() const { return type_; }
    std::span<const TensorPart> parts() const { return parts_; }
    // Whether reading some rows costs no more than their own bytes.
    bool divisible() const;

    // Reads values as floats from `first` on, on the calling thread alone: whole rows of blocks, and all of a tensor
    // that is not divisible. Throws Error(model) for a value that is not finite.
    void read(std::size_t first, std::span<float> out) const;
    // Reads all values, on all threads.
    void read(std::span<float> out) const;
    // The values of whole rows, about Safetensors::part: enough work for a thread.
    std::size_t part_size() const;
    // The types of rows that are moved without conversion, from first to last. Empty if rows need a conversion.
    std::vector<TypedRows> bands() const;
    // Reads f16, bf16 or block rows of one such band in their stored form, from row `first` on, on the calling thread
    // alone. Throws Error(model) for a number or a scale that is not finite.
    void read_stored(std::int64_t first, std::span<std::byte> out) const;
    std::vector<std::byte> read_stored() const; // all rows, if there is one band

private:
    // A run of rows that are contiguous in one part and in the file.
    struct Run {
        const TensorPart* part;
        std::uint64_t from, to, count; // in values: the start in the file's tensor, the start in Ordo's, the count
    };
    template <class Visit>
    void for_runs(std::uint64_t first, std::uint64_t count, const Visit& visit) const;
    void find(const NameMap& names, const Blueprint& blueprint, ErrorCode code, const std::string& why);
    bool add(const NameMap& names, const Blueprint& blueprint, const TensorPiece& piece, ErrorCode code,
             const std::string& why);
    TensorPart part(const FileTensor& from, const NameRule& rule, const TensorPiece& piece, const Blueprint& blueprint,
                    ErrorCode code, const std::string& why) const;
    bool add_projected(const NameMap& names, const Blueprint& blueprint, const std::string& layer);
    void settle_type();
    WeightType type_at(std::int64_t row) const;
    void read_run(const Run& run, std::span<float> out) const;
    void read_transposed(const TensorPart& part, std::span<float> out) const;
    void read_projected(std::span<float> out) const;

    const TensorStore* store_;
    std::string name_, where_;
    std::vector<std::int64_t> shape_;
    std::int64_t rows_ = 0, cols_ = 0;
    std::vector<TensorPart> parts_;  // projected: the table, the matrix, its bias, and the norm's weight and bias
    std::optional<float> projected_; // the epsilon of that norm
    WeightType type_ = WeightType::f32;
};

} // namespace ordo
