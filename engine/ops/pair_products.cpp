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
constexpr int tile_rows = 96, tile_outputs = 64;
constexpr int tall = 5; // tiles of rows that meet the same outputs in turn; of more, threads share the rows
constexpr std::ptrdiff_t products_per_thread = 1 << 21;

std::size_t words_of(int rows) { // or outputs, in whole panels
    return static_cast<std::size_t>((rows + lanes - 1) / lanes) * panel_words;
}
int strip_of(int n) { // rows or outputs that a task rounds
    return std::clamp((n / thread_count() + lanes - 1) / lanes * lanes, lanes, 4 * lanes);
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
    const std::ptrdiff_t products = std::ptrdiff_t{c.rows} * c.cols * k;
    team(products < 2 * products_per_thread ? 1 : thread_count(), [&] {
        for (int first = 0; first < k; first += depth) {
            const int count = std::min(depth, k - first);
            round(a, ta, b, tb, first, count, c);
            multiply(c, count, first > 0 || beta != 0);
        }
    });
}

void PairProducts::round(View a, Transpose ta, View b, Transpose tb, int first, int count, View c) {
    const bool rows_across = ta == Transpose::yes, outputs_across = tb == Transpose::no;
    const auto from = [&](View x, bool across, int i) { return across ? x.row(first) + i : x.row(i) + first; };
    const int rows = strip_of(c.rows), outputs = strip_of(c.cols), strips = (c.rows + rows - 1) / rows;
    const std::ptrdiff_t all = strips + (c.cols + outputs - 1) / outputs;
    const bool few = std::ptrdiff_t{c.rows} * c.cols * count < products_per_thread;
    parallel_for(all, few ? all : 1, [&](std::ptrdiff_t strip) {
        const bool left = strip < strips;
        const int at = static_cast<int>(left ? strip * rows : (strip - strips) * outputs);
        const std::ptrdiff_t to = std::ptrdiff_t{at} * pairs;
        if (left)
            kernels().pack_pair_rows(std::min(rows, c.rows - at), count, from(a, rows_across, at), a.stride,
                                     rows_across, rows_.data() + to, pairs);
        else
            kernels().pack_pair_panels(std::min(outputs, c.cols - at), count, from(b, outputs_across, at), b.stride,
                                       outputs_across, panels_.data() + to, panel_words);
    });
}

void PairProducts::multiply(View c, int count, bool add) const {
    const int down = (c.rows + tile_rows - 1) / tile_rows, across = (c.cols + tile_outputs - 1) / tile_outputs;
    const std::ptrdiff_t grain =
        std::max<std::ptrdiff_t>(1, products_per_thread / (std::ptrdiff_t{tile_rows} * tile_outputs * count));
    parallel_for(std::ptrdiff_t{down} * across, grain, [&](std::ptrdiff_t t) {
        const int first = static_cast<int>(t) / (tall * across) * tall, at = static_cast<int>(t) - first * across;
        const int height = std::min(tall, down - first); // in tiles
        const int row = (first + at % height) * tile_rows, output = at / height * tile_outputs;
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
