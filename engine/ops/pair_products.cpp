// SPDX-License-Identifier: MIT
#include "ops/pair_products.h"

#include "core/parallel.h"
#include "kernels/kernels.h"

#include <algorithm>

namespace ordo {
namespace {

using Word = std::uint32_t;

constexpr int depth = 256, pairs = depth / 2; // k taken at once: a panel of it fits the nearest cache
constexpr int lanes = panel_outputs;
constexpr int panel_words = lanes * pairs;
constexpr int wide = 4 * lanes; // rows or outputs of one task
constexpr int tile_rows = 96, tile_outputs = 64;
constexpr std::ptrdiff_t products_per_thread = 1 << 21;

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
    const bool across = ta == Transpose::yes;
    parallel_for((rows + wide - 1) / wide, 1, [&](std::ptrdiff_t strip) {
        const int row = static_cast<int>(strip) * wide;
        kernels().pack_pair_rows(std::min(wide, rows - row), count, across ? a.row(first) + row : a.row(row) + first,
                                 a.stride, across, rows_.data() + std::ptrdiff_t{row} * pairs, pairs);
    });
}

void PairProducts::round_panels(View b, Transpose tb, int first, int count, int outputs) {
    const bool across = tb == Transpose::no;
    parallel_for((outputs + wide - 1) / wide, 1, [&](std::ptrdiff_t strip) {
        const int output = static_cast<int>(strip) * wide;
        kernels().pack_pair_panels(std::min(wide, outputs - output), count,
                                   across ? b.row(first) + output : b.row(output) + first, b.stride, across,
                                   panels_.data() + std::ptrdiff_t{output} * pairs, panel_words);
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
