// SPDX-License-Identifier: MIT
#include "ops/pair_products.h"

#include "core/parallel.h"
#include "kernels/kernels.h"

#include <algorithm>
#include <cstring>

namespace ordo {
namespace {

using Word = std::uint32_t;

constexpr int depth = 256, pairs = depth / 2; // k taken at once: a panel of it fits the nearest cache
constexpr int lanes = panel_outputs;
constexpr int panel_words = lanes * pairs;
constexpr int wide = 4 * lanes; // rows or outputs of one task
constexpr int tile_rows = 96, tile_outputs = 64;
constexpr std::ptrdiff_t products_per_thread = 1 << 21;

// Rows are cut at `depth`, which the processor does not foresee.
constexpr int ahead = 4;
void prefetch(const float* x, int count) {
    constexpr int line = 16;
    for (int i = 0; i < count; i += line) __builtin_prefetch(x + i);
}

// Rounds `count` numbers of a row that are contiguous along k; an odd count is padded with 0.
void round_along(const float* x, int count, Word* out) {
    kernels().round_to_bf16(count, x, reinterpret_cast<std::uint16_t*>(out));
    if (count % 2 != 0) std::memset(reinterpret_cast<std::byte*>(out) + 2 * count, 0, 2);
}

// Rounds columns col .. col + n of a matrix [k, ...], n up to `wide`: out [panels][pairs][32], lanes from n on 0. Reads
// whole cache lines, as the rows may be a power of two apart.
void round_across(View v, int first, int count, int col, int n, Word* out) {
    std::uint16_t low[wide] = {}, high[wide] = {};
    for (int l = 0; l < count; l += 2, out += lanes) {
        kernels().round_to_bf16(n, v.row(first + l) + col, low);
        if (l + 1 < count)
            kernels().round_to_bf16(n, v.row(first + l + 1) + col, high);
        else
            std::fill_n(high, wide, std::uint16_t{0});
        for (int p = 0; p * lanes < n; ++p)
            for (int j = 0; j < lanes; ++j)
                out[p * panel_words + j] =
                    static_cast<Word>(low[p * lanes + j]) | static_cast<Word>(high[p * lanes + j]) << 16;
    }
}

// to[j * to_stride + i] = from[i * from_stride + j], by cache lines.
void transpose(const Word* from, int rows, int cols, int from_stride, Word* to, int to_stride) {
    constexpr int line = 16;
    for (int j0 = 0; j0 < cols; j0 += line)
        for (int i = 0; i < rows; ++i)
            for (int j = j0; j < std::min(cols, j0 + line); ++j) to[j * to_stride + i] = from[i * from_stride + j];
}

std::size_t words_of(int rows) { // or outputs, in whole panels
    return static_cast<std::size_t>((rows + lanes - 1) / lanes) * panel_words;
}
void grow(Buffer<Word>& buffer, std::size_t words) {
    if (buffer.size() < words) buffer = Buffer<Word>(words);
}

} // namespace

bool PairProducts::available() {
    return kernels().product_bf16_pairs != nullptr;
}

void PairProducts::reserve(int rows, int outputs) {
    grow(rows_, words_of(rows));
    grow(panels_, words_of(outputs));
}

std::size_t PairProducts::floats(int rows, int outputs) {
    return words_of(rows) + words_of(outputs);
}

void PairProducts::operator()(View a, Transpose ta, View b, Transpose tb, View c, float beta) {
    const int k = ta == Transpose::no ? a.cols : a.rows;
    reserve(c.rows, c.cols);
    for (int first = 0; first < k; first += depth) {
        const int count = std::min(depth, k - first);
        round_rows(a, ta, first, count, c.rows);
        round_panels(b, tb, first, count, c.cols);
        multiply(c, count, first > 0 || beta != 0);
    }
}

void PairProducts::round_rows(View a, Transpose ta, int first, int count, int rows) {
    parallel_for((rows + wide - 1) / wide, 1, [&](std::ptrdiff_t strip) {
        const int row = static_cast<int>(strip) * wide, n = std::min(wide, rows - row);
        Word* const out = rows_.data() + static_cast<std::ptrdiff_t>(row) * pairs;
        if (ta == Transpose::no) {
            for (int i = 0; i < n; ++i) {
                if (i + ahead < n) prefetch(a.row(row + i + ahead) + first, count);
                round_along(a.row(row + i) + first, count, out + i * pairs);
            }
            return;
        }
        alignas(64) Word across[wide * pairs];
        round_across(a, first, count, row, n, across);
        for (int i = 0; i < n; i += lanes)
            transpose(across + i * pairs, (count + 1) / 2, std::min(lanes, n - i), lanes, out + i * pairs, pairs);
    });
}

void PairProducts::round_panels(View b, Transpose tb, int first, int count, int outputs) {
    parallel_for((outputs + wide - 1) / wide, 1, [&](std::ptrdiff_t strip) {
        const int output = static_cast<int>(strip) * wide, n = std::min(wide, outputs - output);
        Word* const out = panels_.data() + static_cast<std::ptrdiff_t>(output) * pairs;
        if (tb == Transpose::no) return round_across(b, first, count, output, n, out);
        for (int p = 0; p < n; p += lanes) {
            alignas(64) Word along[panel_words] = {};
            for (int i = 0; i < std::min(lanes, n - p); ++i)
                round_along(b.row(output + p + i) + first, count, along + i * pairs);
            transpose(along, lanes, (count + 1) / 2, pairs, out + p * pairs, lanes);
        }
    });
}

void PairProducts::multiply(View c, int count, bool add) const {
    const int down = (c.rows + tile_rows - 1) / tile_rows, across = (c.cols + tile_outputs - 1) / tile_outputs;
    const std::ptrdiff_t grain =
        std::max<std::ptrdiff_t>(1, products_per_thread / (std::ptrdiff_t{tile_rows} * tile_outputs * count));
    parallel_for(std::ptrdiff_t{down} * across, grain, [&](std::ptrdiff_t t) {
        const int row = static_cast<int>(t) % down * tile_rows, output = static_cast<int>(t) / down * tile_outputs;
        const int rows = std::min(tile_rows, c.rows - row), outputs = std::min(tile_outputs, c.cols - output);
        const auto* const x =
            reinterpret_cast<const std::uint16_t*>(rows_.data() + static_cast<std::ptrdiff_t>(row) * pairs);
        const auto* const w =
            reinterpret_cast<const std::byte*>(panels_.data() + static_cast<std::ptrdiff_t>(output) * pairs);
        constexpr std::ptrdiff_t panel_bytes = sizeof(Word) * panel_words;
        kernels().product_bf16_pairs(rows, outputs, count, w, panel_bytes, x, depth, c.row(row) + output, c.stride,
                                     add);
    });
}

} // namespace ordo
