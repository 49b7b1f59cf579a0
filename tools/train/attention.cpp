// SPDX-License-Identifier: MIT
// Attention over whole sequences, forward and backward. Work is split over (sequence, key head), so
// that the gradients of keys and values, which the heads of a group share, have one writer.
#include "tools/train/backward.h"

#include "core/parallel.h"
#include "kernels/kernels.h"

#include <algorithm>

namespace ordo::train {
namespace {

constexpr int tile_rows = 32; // queries whose scores are held at once

// Keys in whole vectors: those beyond the last are zeros, and what is computed of them is not used.
int padded(int keys) {
    return (keys + 15) / 16 * 16;
}

// out [x.cols, padded(x.rows)] = x^T
void transpose(View x, float* out) {
    const int stride = padded(x.rows);
    for (int i = 0; i < x.rows; ++i)
        for (int j = 0; j < x.cols; ++j) out[j * stride + i] = x.row(i)[j];
}

// Of one thread.
std::size_t scratch_floats(const AttentionShape& shape) {
    return static_cast<std::size_t>(padded(shape.length)) * static_cast<std::size_t>(2 * shape.d_head + 2 * tile_rows);
}

} // namespace

std::size_t Attention::floats(const AttentionShape& shape) {
    return scratch_floats(shape) * static_cast<std::size_t>(thread_count());
}

// With T for the padded length: keys and values transposed [e, T], two score tiles [tile_rows, T].
struct Attention::Scratch {
    float *keys_t, *values_t;
    float *weights, *d_scores;
};

Attention::Attention(const AttentionShape& shape)
    : shape_(shape), scratch_floats_(scratch_floats(shape)), scratch_(floats(shape)) {}

Attention::Scratch Attention::scratch_of_thread() {
    const auto t = static_cast<std::size_t>(padded(shape_.length)), e = static_cast<std::size_t>(shape_.d_head);
    float* p = scratch_.data() + scratch_floats_ * static_cast<std::size_t>(thread_index());
    return {p, p + t * e, p + 2 * t * e, p + 2 * t * e + tile_rows * t};
}

// Keys that the queries first .. first + rows - 1 may see: 0 .. visible - 1.
int Attention::visible(int first, int rows) const {
    return shape_.mask == Mask::causal ? first + rows : shape_.length;
}

// s.weights [rows, visible] = softmax(scale * q k^T + bias) for a tile of queries.
void Attention::weights(const Scratch& s, View q, int first, int rows, const EncodingStack& encodings,
                        Positions positions, int layer, int head) const {
    const int length = shape_.length, stride = padded(length), n_keys = visible(first, rows);
    const Kernels& k = kernels();
    k.product(rows, padded(n_keys), shape_.d_head, shape_.scale, q.row(first), q.stride, 1, s.keys_t, stride, 0,
              s.weights, stride);
    const View tile{s.weights, rows, n_keys, stride};
    encodings.bias(tile, layer, head,
                   positions.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(rows)),
                   positions.first(static_cast<std::size_t>(n_keys)));
    for (int r = 0; r < rows; ++r) {
        const int query = first + r;
        int begin = 0, end = shape_.mask == Mask::causal ? query + 1 : length;
        if (shape_.window > 0) {
            begin = std::max(0, query + 1 - shape_.window);
            if (shape_.mask == Mask::bidirectional) end = std::min(length, query + shape_.window);
        }
        float* row = tile.row(r);
        const float sum = k.exp_row(end - begin, row + begin);
        k.scale(end - begin, 1 / sum, row + begin);
        std::fill(row, row + begin, 0.0f);
        std::fill(row + end, row + n_keys, 0.0f);
    }
}

void Attention::forward(View qkv, const EncodingStack& encodings, Positions positions, View out, int layer) {
    const int length = shape_.length, stride = padded(length), e = shape_.d_head;
    const int group = shape_.n_heads / shape_.n_kv_heads;
    parallel_for_dynamic(shape_.batch * shape_.n_kv_heads, [&](std::ptrdiff_t work) {
        const int sequence = static_cast<int>(work) / shape_.n_kv_heads,
                  kv = static_cast<int>(work) % shape_.n_kv_heads;
        const Scratch s = scratch_of_thread();
        const View rows = rows_of(qkv, sequence * length, length), result = rows_of(out, sequence * length, length);
        const View values = cols_of(rows, (shape_.n_heads + shape_.n_kv_heads + kv) * e, e);
        transpose(cols_of(rows, (shape_.n_heads + kv) * e, e), s.keys_t);
        for (int head = kv * group; head < (kv + 1) * group; ++head) {
            const View q = cols_of(rows, head * e, e);
            for (int first = 0; first < length; first += tile_rows) {
                const int n = std::min(tile_rows, length - first);
                weights(s, q, first, n, encodings, positions, layer, head);
                kernels().product(n, e, visible(first, n), 1, s.weights, stride, 1, values.data, values.stride, 0,
                                  result.row(first) + head * e, result.stride);
            }
        }
    });
}

// With P the weights, O = P V and D_i = dO_i . O_i:  dV = P^T dO,  dS = P * (dO V^T - D),
// dQ = scale dS K,  dK = scale dS^T Q  (Dao et al. 2022, arXiv 2205.14135, appendix B).
void Attention::backward(View qkv, View out, View dout, const EncodingStack& encodings, Positions positions, View dqkv,
                         int layer) {
    const int length = shape_.length, stride = padded(length), e = shape_.d_head;
    const int group = shape_.n_heads / shape_.n_kv_heads;
    parallel_for_dynamic(shape_.batch * shape_.n_kv_heads, [&](std::ptrdiff_t work) {
        const int sequence = static_cast<int>(work) / shape_.n_kv_heads,
                  kv = static_cast<int>(work) % shape_.n_kv_heads;
        const Kernels& k = kernels();
        const Scratch s = scratch_of_thread();
        const View rows = rows_of(qkv, sequence * length, length), d_rows = rows_of(dqkv, sequence * length, length);
        const int key_column = (shape_.n_heads + kv) * e, value_column = (shape_.n_heads + shape_.n_kv_heads + kv) * e;
        const View keys = cols_of(rows, key_column, e), dk = cols_of(d_rows, key_column, e),
                   dv = cols_of(d_rows, value_column, e);
        transpose(keys, s.keys_t);
        transpose(cols_of(rows, value_column, e), s.values_t);
        for (int i = 0; i < length; ++i) {
            std::fill_n(dk.row(i), e, 0.0f);
            std::fill_n(dv.row(i), e, 0.0f);
        }
        for (int head = kv * group; head < (kv + 1) * group; ++head) {
            const View q = cols_of(rows, head * e, e), dq = cols_of(d_rows, head * e, e);
            const View o = cols_of(rows_of(out, sequence * length, length), head * e, e),
                       d_o = cols_of(rows_of(dout, sequence * length, length), head * e, e);
            for (int first = 0; first < length; first += tile_rows) {
                const int n = std::min(tile_rows, length - first), n_keys = visible(first, n);
                weights(s, q, first, n, encodings, positions, layer, head);
                k.product(n, padded(n_keys), e, 1, d_o.row(first), d_o.stride, 1, s.values_t, stride, 0, s.d_scores,
                          stride);
                k.product(n_keys, e, n, 1, s.weights, 1, stride, d_o.row(first), d_o.stride, 1, dv.data, dv.stride);
                for (int r = 0; r < n; ++r) {
                    const float d = k.dot(e, d_o.row(first + r), o.row(first + r));
                    const float* p = s.weights + r * stride;
                    float* ds = s.d_scores + r * stride;
                    for (int j = 0; j < n_keys; ++j) ds[j] = p[j] * (ds[j] - d);
                }
                k.product(n, e, n_keys, shape_.scale, s.d_scores, stride, 1, keys.data, keys.stride, 0, dq.row(first),
                          dq.stride);
                k.product(n_keys, e, n, shape_.scale, s.d_scores, 1, stride, q.row(first), q.stride, 1, dk.data,
                          dk.stride);
            }
        }
    });
}

} // namespace ordo::train
