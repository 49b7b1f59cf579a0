// SPDX-License-Identifier: MIT
#include "layers/matrix.h"

#include "core/parallel.h"
#include "io/blocks.h"
#include "io/half.h"
#include "kernels/kernels.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

namespace ordo {
namespace {

constexpr int lanes = panel_outputs;
constexpr int largest_block_bytes = 210; // q6_K

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
        const float value = row[k];
        const std::uint16_t half = type == WeightType::f16 ? f16_from_float(value) : bf16_from_float(value);
        if (type == WeightType::f16 ? !finite(half) : (half & 0x7f80) == 0x7f80) return false;
        write_half(panel + half_offset(type, lane, k), half);
    }
    return true;
}

// The content of a row's block in a file: f16 numbers, and words of four bytes. A panel's block holds the first f16
// numbers of 32 outputs, then their second ones; then the words in the same order.
struct BlockLayout {
    int halves, halves_at, words, words_at; // halves_at, words_at: offsets in the block, in bytes
    int bytes() const { return 2 * halves + 4 * words; }
};
BlockLayout layout_of(WeightType type) {
    const WeightFormat& format = format_of(type);
    // iq4_xs: includes the bits next to its scale, which do not fill a word.
    const int halves = format.scales + (format.bytes / 2 - format.scales) % 2;
    return {halves, format.scales_at, (format.bytes - 2 * halves) / 4, format.scales_at == 0 ? 2 * halves : 0};
}

// A row of floats or f16 is one block. In bf16 two weights are a word, as in panels; an odd last one remains.
BlockLayout layout_of_row(WeightType type, int cols) {
    if (type == WeightType::f16) return {cols, 0, 0, 0};
    return {0, 0, type == WeightType::bf16 ? cols / 2 : cols, 0};
}

std::uint32_t read_word(const std::byte* p) {
    std::uint32_t word;
    std::memcpy(&word, p, sizeof word);
    return word;
}
void write_word(std::byte* p, std::uint32_t word) {
    std::memcpy(p, &word, sizeof word);
}

// The fifth bits of q5_0 and q5_1 are their first word. Bit j of the file's word is bit j / 4 of byte j % 4 in a panel.
std::uint32_t to_planes(std::uint32_t bits) {
    std::uint32_t planes = 0;
    for (int g = 0; g < 8; ++g) planes |= ((bits >> 4 * g & 15) * 0x00204081u & 0x01010101u) << g;
    return planes;
}
std::uint32_t from_planes(std::uint32_t planes) {
    std::uint32_t bits = 0;
    for (int g = 0; g < 8; ++g) bits |= ((planes >> g & 0x01010101u) * 0x01020408u >> 24 & 15) << 4 * g;
    return bits;
}
bool has_planes(WeightType type) {
    return type == WeightType::q5_0 || type == WeightType::q5_1;
}
constexpr std::uint32_t q8_offset = 0x80808080u; // q8_0 is stored as the weight + 128

// Copies a row's block from its layout in a file to its lane of a panel's block, and back.
void scatter(WeightType type, const BlockLayout& layout, const std::byte* from, int lane, std::byte* block) {
    for (int i = 0; i < layout.halves; ++i)
        std::memcpy(block + 2 * (i * lanes + lane), from + layout.halves_at + 2 * i, 2);
    std::byte* to = block + 2 * lanes * layout.halves + 4 * lane;
    const std::uint32_t offset = type == WeightType::q8_0 ? q8_offset : 0;
    for (int i = 0; i < layout.words; ++i)
        write_word(to + 4 * lanes * i, read_word(from + layout.words_at + 4 * i) ^ offset);
    if (has_planes(type)) write_word(to, to_planes(read_word(to)));
}

typedef std::uint32_t four_words __attribute__((vector_size(16), aligned(1), may_alias)); // unaligned blocks
four_words read_four(const std::byte* p) {
    return *reinterpret_cast<const four_words*>(p);
}
typedef std::uint16_t eight_halves __attribute__((vector_size(16), aligned(1), may_alias));
eight_halves read_eight(const std::byte* p) {
    return *reinterpret_cast<const eight_halves*>(p);
}

// Copies n f16 numbers from each of four rows, `stride` apart, to four adjacent lanes.
void scatter_four_halves(int n, const std::byte* from, std::size_t stride, std::byte* to) {
    int i = 0;
    for (; i + 8 <= n; i += 8) {
        const std::byte* const at = from + 2 * i;
        const eight_halves a = read_eight(at), b = read_eight(at + stride), c = read_eight(at + 2 * stride),
                           d = read_eight(at + 3 * stride);
        const auto ab = four_words(__builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)),
                   cd = four_words(__builtin_shufflevector(c, d, 0, 8, 1, 9, 2, 10, 3, 11)),
                   AB = four_words(__builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)),
                   CD = four_words(__builtin_shufflevector(c, d, 4, 12, 5, 13, 6, 14, 7, 15));
        const four_words columns[] = {
            __builtin_shufflevector(ab, cd, 0, 4, 1, 5), __builtin_shufflevector(ab, cd, 2, 6, 3, 7),
            __builtin_shufflevector(AB, CD, 0, 4, 1, 5), __builtin_shufflevector(AB, CD, 2, 6, 3, 7)};
        for (int j = 0; j < 8; ++j) // two lanes in each
            std::memcpy(to + 2 * lanes * (i + j), reinterpret_cast<const std::byte*>(columns) + 8 * j, 8);
    }
    for (; i < n; ++i)
        for (int row = 0; row < 4; ++row)
            std::memcpy(to + 2 * (i * lanes + row), from + static_cast<std::size_t>(row) * stride + 2 * i, 2);
}

// scatter() for four rows and adjacent lanes, four words of each at once. Loading a file spends its time here.
void scatter_four(WeightType type, const BlockLayout& layout, const std::byte* from, std::size_t stride, int lane,
                  std::byte* block) {
    scatter_four_halves(layout.halves, from + layout.halves_at, stride, block + 2 * lane);
    std::byte* const words = block + 2 * lanes * layout.halves + 4 * lane;
    const std::uint32_t offset = type == WeightType::q8_0 ? q8_offset : 0;
    const std::byte* const rows = from + layout.words_at;
    int i = 0;
    for (; i + 4 <= layout.words; i += 4) {
        const std::byte* const at = rows + 4 * i;
        const four_words a = read_four(at), b = read_four(at + stride), c = read_four(at + 2 * stride),
                         d = read_four(at + 3 * stride);
        const four_words ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
        const four_words AB = __builtin_shufflevector(a, b, 2, 6, 3, 7), CD = __builtin_shufflevector(c, d, 2, 6, 3, 7);
        const four_words columns[] = {
            __builtin_shufflevector(ab, cd, 0, 1, 4, 5), __builtin_shufflevector(ab, cd, 2, 3, 6, 7),
            __builtin_shufflevector(AB, CD, 0, 1, 4, 5), __builtin_shufflevector(AB, CD, 2, 3, 6, 7)};
        for (int j = 0; j < 4; ++j) *reinterpret_cast<four_words*>(words + 4 * lanes * (i + j)) = columns[j] ^ offset;
    }
    for (; i < layout.words; ++i)
        for (int row = 0; row < 4; ++row)
            write_word(words + 4 * (lanes * i + row),
                       read_word(rows + static_cast<std::size_t>(row) * stride + 4 * i) ^ offset);
    if (has_planes(type))
        for (int row = 0; row < 4; ++row) write_word(words + 4 * row, to_planes(read_word(words + 4 * row)));
}

void gather(WeightType type, const BlockLayout& layout, const std::byte* block, int lane, std::byte* to) {
    for (int i = 0; i < layout.halves; ++i)
        std::memcpy(to + layout.halves_at + 2 * i, block + 2 * (i * lanes + lane), 2);
    const std::byte* from = block + 2 * lanes * layout.halves + 4 * lane;
    const std::uint32_t offset = type == WeightType::q8_0 ? q8_offset : 0;
    for (int i = 0; i < layout.words; ++i)
        write_word(to + layout.words_at + 4 * i, read_word(from + 4 * lanes * i) ^ offset);
    std::byte* const fifth = to + layout.words_at;
    if (has_planes(type)) write_word(fifth, from_planes(read_word(fifth)));
}

std::ptrdiff_t panel_bytes(WeightType type, int cols) {
    const std::ptrdiff_t k = cols;
    switch (type) {
    case WeightType::f16:
        return 2 * lanes * k;
    case WeightType::bf16:
        return 2 * lanes * ((k + 1) / 2 * 2);
    default:
        return lanes * static_cast<std::ptrdiff_t>(row_bytes(type, cols));
    }
}

} // namespace

Matrix::Matrix(const std::vector<TypedRows>& bands, int cols, std::byte* memory)
    : type_(bands.front().type), cols_(cols) {
    for (const auto& [type, rows] : bands) {
        bands_.push_back({type, rows_, rows, memory, panel_bytes(type, cols)});
        memory += bytes(type, rows, cols);
        rows_ += rows;
    }
}

std::uint64_t Matrix::bytes(WeightType type, int rows, int cols) {
    const std::uint64_t panels = (static_cast<std::uint64_t>(rows) + lanes - 1) / lanes;
    return panels * static_cast<std::uint64_t>(panel_bytes(type, cols));
}

std::uint64_t Matrix::bytes(const std::vector<TypedRows>& bands, int cols) {
    std::uint64_t sum = 0;
    for (const auto& [type, rows] : bands) sum += bytes(type, rows, cols);
    return sum;
}

bool Matrix::has(WeightType type) const {
    return type_ == type ||
           std::any_of(bands_.begin(), bands_.end(), [&](const Band& band) { return band.type == type; });
}

std::uint64_t Matrix::bytes() const {
    std::uint64_t sum = 0;
    for (const Band& band : bands_) sum += bytes(band.type, band.rows, cols_);
    return sum;
}

const Matrix::Band& Matrix::band_of(int row) const {
    std::size_t i = 0;
    while (row >= bands_[i].first + bands_[i].rows) ++i;
    return bands_[i];
}

bool Matrix::pack(View f32) const {
    if (type_ == WeightType::f32) {
        pack_blocks(
            std::as_bytes(std::span(f32.data, static_cast<std::size_t>(rows_) * static_cast<std::size_t>(cols_))));
        return true;
    }
    std::atomic<bool> held{true};
    const int panels = (rows_ + lanes - 1) / lanes;
    parallel_for(panels, 1, [&](std::ptrdiff_t i) {
        for (int lane = 0; lane < lanes; ++lane) {
            const int row = static_cast<int>(i) * lanes + lane;
            if (row >= rows_) return; // the memory is zero already
            if (!pack_row(row, {f32.row(row), static_cast<std::size_t>(cols_)}))
                held.store(false, std::memory_order_relaxed);
        }
    });
    return held.load();
}

bool Matrix::pack_row(int i, std::span<const float> values) const {
    std::byte* to = only_band().panels + i / lanes * only_band().panel_bytes;
    if (!quantised(type_)) return pack_halves(type_, i % lanes, values, to);
    const BlockLayout layout = layout_of(type_);
    std::array<std::byte, 2 + quant_block> block;
    bool fits = true;
    for (int b = 0; b < cols_ / quant_block; ++b, to += lanes * layout.bytes()) {
        fits &= write_blocks(type_, values.subspan(static_cast<std::size_t>(b) * quant_block, quant_block), block);
        scatter(type_, layout, block.data(), i % lanes, to);
    }
    return fits;
}

void Matrix::pack_blocks(int first, std::span<const std::byte> rows) const {
    const Band& band = band_of(first);
    const std::size_t stride = row_bytes(band.type, cols_);
    const BlockLayout layout = quantised(band.type) ? layout_of(band.type) : layout_of_row(band.type, cols_);
    const int blocks = quantised(band.type) ? cols_ / block_size(band.type) : 1;
    const int left = band.type == WeightType::bf16 ? cols_ % 2 : 0; // the last weight of a row
    const int begin = first - band.first, end = begin + static_cast<int>(rows.size() / stride);
    for (int top = begin / lanes * lanes; top < end; top += lanes) { // the rows of a panel, block by block
        std::byte* to = band.panels + top / lanes * band.panel_bytes;
        const int from = std::max(begin, top), last = std::min(end, top + lanes);
        for (int b = 0; b < blocks; ++b, to += lanes * layout.bytes())
            for (int i = from; i < last;) {
                const std::byte* const row = rows.data() + static_cast<std::size_t>(i - begin) * stride;
                const bool four = i % 4 == 0 && i + 4 <= last;
                if (four)
                    scatter_four(band.type, layout, row + b * layout.bytes(), stride, i % lanes, to);
                else
                    scatter(band.type, layout, row + b * layout.bytes(), i % lanes, to);
                i += four ? 4 : 1;
            }
        for (int i = from; i < last && left != 0; ++i)
            std::memcpy(band.panels + top / lanes * band.panel_bytes + half_offset(band.type, i % lanes, cols_ - 1),
                        rows.data() + static_cast<std::size_t>(i - begin + 1) * stride - 2, 2);
    }
}

void Matrix::pack_blocks(std::span<const std::byte> rows) const {
    const std::size_t stride = row_bytes(type_, cols_);
    parallel_for((rows_ + lanes - 1) / lanes, 1, [&](std::ptrdiff_t p) {
        const int first = static_cast<int>(p) * lanes;
        const auto count = static_cast<std::size_t>(std::min(lanes, rows_ - first));
        pack_blocks(first, rows.subspan(static_cast<std::size_t>(first) * stride, count * stride));
    });
}

void Matrix::read_halves(const Band& band, int i, float* out) const {
    const std::byte* const from = band.panel(i / lanes);
    for (int k = 0; k < cols_; ++k) {
        const std::uint16_t half = read_half(from + half_offset(band.type, i % lanes, k));
        out[k] = band.type == WeightType::f16 ? f16_to_float(half) : bf16_to_float(half);
    }
}

void Matrix::row(int i, float* out) const {
    if (!packed()) {
        std::copy_n(view_.row(i), cols_, out);
        return;
    }
    const Band& band = band_of(i);
    i -= band.first;
    const std::byte* from = band.panel(i / lanes);
    if (band.type == WeightType::f32) {
        for (int k = 0; k < cols_; ++k) std::memcpy(out + k, from + 4 * (std::ptrdiff_t{k} * lanes + i % lanes), 4);
        return;
    }
    if (!quantised(band.type)) return read_halves(band, i, out);
    const BlockLayout layout = layout_of(band.type);
    const int size = block_size(band.type);
    std::array<std::byte, largest_block_bytes> block;
    for (int b = 0; b < cols_ / size; ++b, from += lanes * layout.bytes(), out += size) {
        gather(band.type, layout, from, i % lanes, block.data());
        read_blocks(band.type, block, {out, static_cast<std::size_t>(size)});
    }
}

} // namespace ordo
