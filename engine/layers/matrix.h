// SPDX-License-Identifier: MIT
// A matrix of weights in any of the types, with the product that layers are made of.
#pragma once

#include "core/weight_type.h"
#include "kernels/kernels.h"

#include <vector>

namespace ordo {

// So many rows of one type.
struct TypedRows {
    WeightType type;
    int rows;
};

// Weights [rows, cols] that somebody else owns: packed in panels as kernels/kernels.h describes, or f32 row by row
// where they are trained, or too few to fill a panel. There is no second copy. Blocks may be of several types, each
// from some row on, as where a file has the value projection in another type than those of queries and keys.
class Matrix {
public:
    // Rows of one type, in panels of their own.
    struct Band {
        WeightType type;
        int first, rows;
        std::byte* panels;
        std::ptrdiff_t panel_bytes;

        const std::byte* panel(int i) const { return panels + i * panel_bytes; }
    };

    Matrix() = default;
    Matrix(View f32) : type_(WeightType::f32), rows_(f32.rows), cols_(f32.cols), view_(f32) {} // NOLINT: a view is one
    // memory: bytes() of them, aligned to 64.
    Matrix(WeightType type, int rows, int cols, std::byte* memory) : Matrix({{{type, rows}}}, cols, memory) {}
    // Of several types all are blocks.
    Matrix(const std::vector<TypedRows>& bands, int cols, std::byte* memory);

    // Of a packed matrix, panels filled up.
    static std::uint64_t bytes(WeightType type, int rows, int cols);
    static std::uint64_t bytes(const std::vector<TypedRows>& bands, int cols);

    // Writes the weights f32 [rows, cols], rows one after the other, into a packed matrix of a writable() type. False
    // for one that the type cannot hold.
    bool pack(View f32) const;
    // The same with rows in this very type as a file has them, row_bytes() each, which are moved and not computed with.
    void pack_blocks(std::span<const std::byte> rows) const;
    // Only some of one band, from row `first` on, on the calling thread: others may write other panels meanwhile.
    void pack_blocks(int first, std::span<const std::byte> rows) const;
    // Row i as floats, [cols].
    void row(int i, float* out) const;

    WeightType type() const { return type_; } // of the first rows
    bool has(WeightType type) const;
    std::uint64_t bytes() const; // of what is packed
    int rows() const { return rows_; }
    int cols() const { return cols_; }
    bool packed() const { return !bands_.empty(); }
    View view() const { return view_; } // of one that is not packed
    std::span<const Band> bands() const { return bands_; }
    const Band& only_band() const { return bands_.front(); } // of f32, f16 and bf16

private:
    const Band& band_of(int row) const;
    bool pack_row(int i, std::span<const float> values) const;
    void read_halves(const Band& band, int i, float* out) const;

    WeightType type_ = WeightType::f32;
    int rows_ = 0, cols_ = 0;
    View view_;
    std::vector<Band> bands_;
};

} // namespace ordo
