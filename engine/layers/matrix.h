// SPDX-License-Identifier: MIT
// A matrix of weights of any type, and its layout.
#pragma once

#include "core/weight_type.h"
#include "rows.h"

#include <vector>

namespace ordo {

// A number of rows of one type.
struct TypedRows {
    WeightType type;
    int rows;
};

// Weights [rows, cols] in the caller's memory. They are packed in panels (kernels/kernels.h), or f32 rows where they
// are trained or too few to fill a panel. There is no second copy. Block types may differ by rows: a file may store the
// value projection in another type than those of queries and keys.
class Matrix {
public:
    // Rows of one type, with panels of their own.
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
    // With several types, all must be block types.
    Matrix(const std::vector<TypedRows>& bands, int cols, std::byte* memory);

    // The size of a packed matrix, with padded panels.
    static std::uint64_t bytes(WeightType type, int rows, int cols);
    static std::uint64_t bytes(const std::vector<TypedRows>& bands, int cols);

    // Packs the weights f32 [rows, cols], contiguous rows, into a matrix of a writable() type. False if the type cannot
    // hold a weight.
    bool pack(View f32) const;
    // The same for rows of the matrix's type in the layout of a file, row_bytes() each. They are moved without
    // conversion.
    void pack_blocks(std::span<const std::byte> rows) const;
    // Packs some rows of one band, from row `first` on, on the calling thread. Other threads may write other panels.
    void pack_blocks(int first, std::span<const std::byte> rows) const;
    // Row i as floats, [cols].
    void row(int i, float* out) const;

    WeightType type() const { return type_; } // of the first rows
    bool has(WeightType type) const;
    std::uint64_t bytes() const; // of the packed weights
    int rows() const { return rows_; }
    int cols() const { return cols_; }
    bool packed() const { return !bands_.empty(); }
    View view() const { return view_; } // of an unpacked matrix
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
