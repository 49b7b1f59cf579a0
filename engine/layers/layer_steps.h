// SPDX-License-Identifier: MIT
// What the steps of a layer share, forward and backward.
#pragma once

#include "core/parallel.h"
#include "kernels/kernels.h"
#include "layers/layer.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace ordo {

inline void copy(View from, View to) {
    if (from.data == to.data) return;
    parallel_for(from.rows, 64, [&](std::ptrdiff_t i) {
        std::copy_n(from.row(static_cast<int>(i)), from.cols, to.row(static_cast<int>(i)));
    });
}

inline void zero(View x) {
    parallel_for(x.rows, std::max(1, 16384 / x.cols),
                 [&](std::ptrdiff_t i) { std::fill_n(x.row(static_cast<int>(i)), x.cols, 0.0f); });
}

inline float sigmoid(float x) {
    return 1 / (1 + std::exp(-x));
}

// to += from
inline void add(View from, View to) {
    const Kernels& k = kernels();
    parallel_for(to.rows, std::max(1, 16384 / to.cols),
                 [&](std::ptrdiff_t i) { k.add(to.cols, from.row(static_cast<int>(i)), to.row(static_cast<int>(i))); });
}

inline void add_to_rows(View bias, View to) {
    const Kernels& k = kernels();
    parallel_for(to.rows, std::max(1, 16384 / to.cols),
                 [&](std::ptrdiff_t i) { k.add(to.cols, bias.data, to.row(static_cast<int>(i))); });
}

// to = factor * from
inline void scale(float factor, View from, View to) {
    copy(from, to);
    parallel_for(to.rows, std::max(1, 16384 / to.cols),
                 [&](std::ptrdiff_t i) { kernels().scale(to.cols, factor, to.row(static_cast<int>(i))); });
}

inline int row_count(const PassRows& in, std::span<const View> values) {
    return in.parts.empty() ? values.front().rows : static_cast<int>(in.parts.size()) * in.parts.front().rows;
}

// The columns of queries or of keys in rows [n, qkv_width], as groups with one norm each: one for each head, or one.
struct NormedColumns {
    int first, width, groups;
};
inline std::array<NormedColumns, 2> normed_columns(const Program& program) {
    const LayerSizes& s = program.sizes;
    const bool head = program.plan.qk_norm == QkNorm::head;
    const int q = head ? s.d_head : s.q_width(), k = head ? s.d_head : s.kv_width();
    return {NormedColumns{0, q, s.q_width() / q}, NormedColumns{s.q_width(), k, s.kv_width() / k}};
}

// The dropout site of a layer's branch. The sites of third branches come after those of all layers.
inline int dropout_site(int layer, int branch) {
    return branch < 2 ? 1 + 2 * layer + branch : (1 << 16) + layer;
}

// Op::shift: the encodings that shift at its place, and where they do.
struct Shift {
    Shift(const Step& step, const Layer& layer)
        : place(static_cast<Place>(step.first)),
          encodings(layer.embedding ? layer.embedding->layer(0) : layer.encodings), index(std::max(layer.index, 0)),
          only(layer.embedding ? layer.embedding->items()[static_cast<std::size_t>(step.weight)].get() : nullptr) {}

    bool acts(int item) const { return encodings.shifts(item, place) && (!only || &encodings.item(item) == only); }
    // Of some rows of a sequence, and of the rows before them.
    View states(const Part& part, int row, int rows) const {
        const int before = std::min(part.first + row, encodings.shift_rows());
        return part.cache->state(index, part.first + row - before, before + rows);
    }

    Place place;
    const LayerEncodings& encodings;
    int index;
    const Encoding* only; // of the embedding: a step for each
};

} // namespace ordo
