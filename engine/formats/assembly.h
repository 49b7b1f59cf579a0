// SPDX-License-Identifier: MIT
// One of our tensors, put together from those of a file.
#pragma once

#include "formats/name_map.h"
#include "formats/tensor_store.h"
#include "layers/matrix.h"

namespace ordo {

// Rows of one tensor of the file: of each group of `stride` rows, those from `first` on, `take` of them.
struct TensorPart {
    const FileTensor* from = nullptr;
    bool transposed = false; // [columns, rows] in the file; all of it
    bool plus_one = false;
    std::int64_t groups = 1, stride = 0, first = 0, take = 0;

    std::int64_t rows() const { return groups * take; }
};

// Where a tensor's values come from. Of rank 1 each value is a row of one column.
class Assembly {
public:
    // Finds the parts of a tensor and checks their shapes. Throws Error(code) for one that is absent or of another
    // shape, with why added to the message, and Error(model) for one whose type weights cannot have. The store must
    // outlive it.
    Assembly(const TensorStore& store, const NameMap& names, const Blueprint& blueprint, const TensorSpec& spec,
             const std::string& where, ErrorCode code = ErrorCode::model, const std::string& why = {});

    // What keeps all values without loss: the type of the parts; f32 if they differ, or are not just moved.
    WeightType type() const { return type_; }
    std::span<const TensorPart> parts() const { return parts_; }
    // Whether rows can be read at the cost of their own bytes.
    bool divisible() const;

    // Values as floats from `first` on, by the calling thread alone: whole rows of blocks, and all of what is not
    // divisible. Throws Error(model) for one that is not finite.
    void read(std::size_t first, std::span<float> out) const;
    // All of them, by all threads.
    void read(std::span<float> out) const;
    // Values of whole rows, about Safetensors::part of them: what is worth a thread.
    std::size_t part_size() const;
    // Of rows that are moved as they are: their types from the first to the last, one or more; else none.
    std::vector<TypedRows> bands() const;
    // Rows of halves or blocks of one such band as they are stored, from row `first` on, by the calling thread alone.
    // Throws Error(model) for a half or a scale that is not finite.
    void read_stored(std::int64_t first, std::span<std::byte> out) const;
    std::vector<std::byte> read_stored() const; // all rows, if there is but one band

private:
    // A stretch of rows that follow each other in one part and in the file.
    struct Run {
        const TensorPart* part;
        std::uint64_t from, to, count; // values: where in the file's tensor, where in ours, how many
    };
    template <class Visit>
    void for_runs(std::uint64_t first, std::uint64_t count, const Visit& visit) const;
    void find(const NameMap& names, const Blueprint& blueprint, ErrorCode code, const std::string& why);
    bool add(const NameMap& names, const Blueprint& blueprint, const TensorPiece& piece, ErrorCode code,
             const std::string& why);
    TensorPart part(const FileTensor& from, const NameRule& rule, const TensorPiece& piece, const Blueprint& blueprint,
                    ErrorCode code, const std::string& why) const;
    void settle_type();
    WeightType type_at(std::int64_t row) const;
    void read_run(const Run& run, std::span<float> out) const;
    void read_transposed(const TensorPart& part, std::span<float> out) const;

    const TensorStore* store_;
    std::string name_, where_;
    std::vector<std::int64_t> shape_;
    std::int64_t rows_ = 0, cols_ = 0;
    std::vector<TensorPart> parts_;
    WeightType type_ = WeightType::f32;
};

} // namespace ordo
