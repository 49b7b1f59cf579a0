// SPDX-License-Identifier: MIT
// A matrix of weights in any of the types, with the product that layers are made of.
#pragma once

#include "core/weight_type.h"
#include "kernels/kernels.h"

namespace ordo {

// Weights [rows, cols] that somebody else owns: f32 row by row, other types packed in panels as
// kernels/kernels.h describes. There is no second copy.
class Matrix {
public:
    Matrix() = default;
    Matrix(View f32) : type_(WeightType::f32), rows_(f32.rows), cols_(f32.cols), view_(f32) {} // NOLINT: a view is one
    // memory: bytes() of them, aligned to 64.
    Matrix(WeightType type, int rows, int cols, std::byte* memory);

    // Of a packed matrix, panels filled up.
    static std::uint64_t bytes(WeightType type, int rows, int cols);

    // Writes the weights f32 [rows, cols] into a packed matrix of a writable() type. False for one that the type cannot
    // hold.
    bool pack(View f32) const;
    // The same with rows of blocks in this very type, row_bytes() each: they keep their scales and levels.
    void pack_blocks(std::span<const std::byte> rows) const;
    // Only some, from row `first` on, on the calling thread: others may write other panels meanwhile.
    void pack_blocks(int first, std::span<const std::byte> rows) const;
    // Row i as floats, [cols].
    void row(int i, float* out) const;

    WeightType type() const { return type_; }
    int rows() const { return rows_; }
    int cols() const { return cols_; }
    View view() const { return view_; } // of f32
    const std::byte* panel(int i) const { return panels_ + static_cast<std::ptrdiff_t>(i) * panel_bytes(); }
    std::ptrdiff_t panel_bytes() const { return panel_bytes(type_, cols_); }

private:
    static std::ptrdiff_t panel_bytes(WeightType type, int cols);
    bool pack_row(int i, std::span<const float> values) const;

    WeightType type_ = WeightType::f32;
    int rows_ = 0, cols_ = 0;
    View view_;
    std::byte* panels_ = nullptr;
};

} // namespace ordo
