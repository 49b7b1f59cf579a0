// SPDX-License-Identifier: MIT
#include "layers/matrix.h"

#include "core/parallel.h"
#include "io/blocks.h"
#include "io/half.h"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace ordo {
namespace {

constexpr int lanes = panel_outputs;
constexpr int scale_bytes = 2 * lanes; // of a block of a panel

std::uint16_t read_half(const std::byte* p) {
    std::uint16_t half;
    std::memcpy(&half, p, sizeof half);
    return half;
}
void write_half(std::byte* p, std::uint16_t half) {
    std::memcpy(p, &half, sizeof half);
}
bool finite(std::uint16_t f16) {
    return (f16 & 0x7c00) != 0x7c00;
}

std::ptrdiff_t half_offset(WeightType type, int lane, int k) {
    const std::ptrdiff_t pair = type == WeightType::bf16 ? 2 : 1;
    return 2 * ((k / pair * lanes + lane) * pair + k % pair);
}

bool pack_halves(WeightType type, int lane, std::span<const float> row, std::byte* panel) {
    for (int k = 0; k < static_cast<int>(row.size()); ++k) {
        const float value = row[static_cast<std::size_t>(k)];
        const std::uint16_t half = type == WeightType::f16 ? f16_from_float(value) : bf16_from_float(value);
        if (type == WeightType::f16 ? !finite(half) : (half & 0x7f80) == 0x7f80) return false;
        write_half(panel + half_offset(type, lane, k), half);
    }
    return true;
}

// Byte j of a row's block, behind its scale: of q4_0 in the place of weights j and j + 16.
std::byte* in_panel(std::byte* block, int lane, int j) {
    return block + scale_bytes + (j / 4 * lanes + lane) * 4 + j % 4;
}

// A row's block, as GGUF has it, to its lane of a panel's, and back. q8_0 is kept 128 too large.
void scatter(const std::byte* from, int bytes, int lane, bool offset, std::byte* block) {
    std::memcpy(block + 2 * lane, from, 2);
    for (int j = 0; j < bytes; ++j) *in_panel(block, lane, j) = from[2 + j] ^ std::byte(offset ? 128 : 0);
}
void gather(std::byte* block, int lane, int bytes, bool offset, std::byte* to) {
    std::memcpy(to, block + 2 * lane, 2);
    for (int j = 0; j < bytes; ++j) to[2 + j] = *in_panel(block, lane, j) ^ std::byte(offset ? 128 : 0);
}

} // namespace

Matrix::Matrix(WeightType type, int rows, int cols, std::byte* memory)
    : type_(type), rows_(rows), cols_(cols), panels_(memory) {}

std::ptrdiff_t Matrix::panel_bytes(WeightType type, int cols) {
    const std::ptrdiff_t k = cols;
    switch (type) {
    case WeightType::f32:
        return 0;
    case WeightType::f16:
        return 2 * lanes * k;
    case WeightType::bf16:
        return 2 * lanes * ((k + 1) / 2 * 2);
    default:
        return lanes * static_cast<std::ptrdiff_t>(row_bytes(type, cols));
    }
    return 0;
}

std::uint64_t Matrix::bytes(WeightType type, int rows, int cols) {
    if (type == WeightType::f32)
        return sizeof(float) * static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(cols);
    const std::uint64_t panels = (static_cast<std::uint64_t>(rows) + lanes - 1) / lanes;
    return panels * static_cast<std::uint64_t>(panel_bytes(type, cols));
}

bool Matrix::pack(View f32) const {
    std::atomic<bool> held{true};
    const int panels = (rows_ + lanes - 1) / lanes;
    parallel_for(panels, 1, [&](std::ptrdiff_t i) {
        for (int lane = 0; lane < lanes; ++lane) {
            const int row = static_cast<int>(i) * lanes + lane;
            if (row >= rows_) return; // zeros, as the memory came
            if (!pack_row(row, {f32.row(row), static_cast<std::size_t>(cols_)}))
                held.store(false, std::memory_order_relaxed);
        }
    });
    return held.load();
}

bool Matrix::pack_row(int i, std::span<const float> values) const {
    std::byte* to = panels_ + i / lanes * panel_bytes();
    if (!quantised(type_)) return pack_halves(type_, i % lanes, values, to);
    std::byte block[2 + quant_block];
    const auto bytes = static_cast<int>(row_bytes(type_, quant_block)) - 2;
    bool fits = true;
    for (int b = 0; b < cols_ / quant_block; ++b, to += scale_bytes + bytes * lanes) {
        fits &= write_blocks(type_, values.subspan(static_cast<std::size_t>(b) * quant_block, quant_block), block);
        scatter(block, bytes, i % lanes, type_ == WeightType::q8_0, to);
    }
    return fits;
}

void Matrix::pack_blocks(std::span<const std::byte> rows) const {
    const std::size_t stride = row_bytes(type_, cols_), block_stride = row_bytes(type_, quant_block);
    const auto bytes = static_cast<int>(block_stride) - 2;
    parallel_for((rows_ + lanes - 1) / lanes, 1, [&](std::ptrdiff_t p) {
        for (int i = static_cast<int>(p) * lanes; i < std::min(rows_, (static_cast<int>(p) + 1) * lanes); ++i) {
            std::byte* to = panels_ + p * panel_bytes();
            const std::byte* from = rows.data() + static_cast<std::size_t>(i) * stride;
            for (int b = 0; b < cols_ / quant_block; ++b, from += block_stride, to += scale_bytes + bytes * lanes)
                scatter(from, bytes, i % lanes, type_ == WeightType::q8_0, to);
        }
    });
}

void Matrix::row(int i, float* out) const {
    if (type_ == WeightType::f32) {
        std::copy_n(view_.row(i), cols_, out);
        return;
    }
    std::byte* from = panels_ + i / lanes * panel_bytes();
    const int lane = i % lanes;
    if (!quantised(type_)) {
        for (int k = 0; k < cols_; ++k) {
            const std::uint16_t half = read_half(from + half_offset(type_, lane, k));
            out[k] = type_ == WeightType::f16 ? f16_to_float(half) : bf16_to_float(half);
        }
        return;
    }
    std::byte block[2 + quant_block];
    const auto bytes = static_cast<int>(row_bytes(type_, quant_block)) - 2;
    for (int b = 0; b < cols_ / quant_block; ++b, from += scale_bytes + bytes * lanes, out += quant_block) {
        gather(from, lane, bytes, type_ == WeightType::q8_0, block);
        read_blocks(type_, block, {out, quant_block});
    }
}

} // namespace ordo
