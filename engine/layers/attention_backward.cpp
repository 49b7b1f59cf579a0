// SPDX-License-Identifier: MIT
// Attention backward over whole sequences. The work is split into items, (sequence, key/value head): the heads of a
// group share the gradients of keys and values, which then have one writer. Gradients shared by all items are summed
// over the items in order.
#include "layers/attention_tile.h"

#include "core/parallel.h"
#include "kernels/kernels.h"

#include <algorithm>

namespace ordo {
namespace {

constexpr int tile_rows = AttentionScratch::tile;

// Keys in whole vectors. Those beyond the last are zeros, and their results are not used.
int padded(int keys) {
    return (keys + 15) / 16 * 16;
}

std::size_t floats_of_thread(const AttentionShape& shape, int length) {
    return static_cast<std::size_t>(padded(length)) * static_cast<std::size_t>(2 * shape.d_head + 4 * tile_rows) +
           CacheFormat::query_bytes(tile_rows, shape.d_head) / sizeof(float);
}

std::size_t items_of(const AttentionShape& shape, int sequences) {
    return static_cast<std::size_t>(sequences) * static_cast<std::size_t>(shape.n_kv_heads);
}

std::size_t floats_of(const TensorGradients& grads) {
    std::size_t n = 0;
    for (const std::vector<View>& views : grads)
        for (const View& v : views) n += static_cast<std::size_t>(v.rows) * static_cast<std::size_t>(v.cols);
    return n;
}

// The same tensors, in an item's own memory.
TensorGradients laid_out(const TensorGradients& grads, float* memory) {
    TensorGradients own = grads;
    for (std::vector<View>& views : own)
        for (View& v : views) {
            v = view(memory, v.rows, v.cols);
            memory += static_cast<std::ptrdiff_t>(v.rows) * v.cols;
        }
    return own;
}

// to[i] += from[0][i] + from[stride][i] + ..., in that order.
void add_items(int items, std::ptrdiff_t stride, const float* from, std::ptrdiff_t n, float* to) {
    constexpr std::ptrdiff_t strip = 1024;
    parallel_for((n + strip - 1) / strip, 4, [&](std::ptrdiff_t b) {
        const std::ptrdiff_t first = b * strip;
        for (int item = 0; item < items; ++item)
            kernels().add(static_cast<int>(std::min(strip, n - first)), from + item * stride + first, to + first);
    });
}

// The inputs of one sequence's attention, or their gradients: queries [n, n_heads * e], keys and values [m, n_kv_heads
// * e].
struct Read {
    View q, k, v;
};
// The columns of qkv, or of a memory.
Read read_of(const AttentionShape& shape, View qkv) {
    const int q = shape.n_heads * shape.d_head, kv = shape.n_kv_heads * shape.d_head;
    return {cols_of(qkv, 0, q), cols_of(qkv, q, kv), cols_of(qkv, q + kv, kv)};
}
Read read_of(const AttentionShape& shape, View q, View memory) {
    const int kv = shape.n_kv_heads * shape.d_head;
    return {q, cols_of(memory, 0, kv), cols_of(memory, kv, kv)};
}

// Row i of a tile's gradient, with the keys [first, first + count).
Gradients row_of(const Gradients& gradient, int i, int first, int count) {
    Gradients own = gradient;
    own.q = rows_of(gradient.q, i, 1);
    own.k = rows_of(gradient.k, first, count);
    if (own.query_state.data) own.query_state = rows_of(gradient.query_state, i, 1);
    if (own.key_state.data) own.key_state = rows_of(gradient.key_state, first, count);
    if (own.rescored) own.rescored += i;
    return own;
}

// One item: the query heads of a sequence that share a key/value head.
class Item {
public:
    Item(const AttentionLayer& layer, const Part& part, const Read& read, View out, View d_out, const Read& d, int kv,
         AttentionGradient& gradient, int slot, float* d_state, TensorGradients grads)
        : shape_(layer.shape), job_{layer, part, read.q, out}, out_(out), d_out_(d_out), d_q_(d.q), kv_(kv),
          s_(gradient.of_slot(slot)), stride_(gradient.stride()), grads_(std::move(grads)) {
        const int e = shape_.d_head;
        keys_ = cols_of(read.k, kv * e, e);
        d_keys_ = cols_of(d.k, kv * e, e);
        d_values_ = cols_of(d.v, kv * e, e);
        View values = cols_of(read.v, kv * e, e);
        if (job_.cache().shape().type != CacheType::f32) { // those of the forward pass, as sums of D and dO V^T cancel
            const int stored = shape_.cross ? part.memory_tokens : part.rows;
            job_.cache().values(layer.index, kv, 0, view(s_.keys, stored, e));
            values = view(s_.keys, values.rows, e);
        }
        for (int i = 0; i < values.rows; ++i) {
            for (int j = 0; j < e; ++j) s_.values_t[j * stride_ + i] = values.row(i)[j];
            std::fill_n(d_keys_.row(i), e, 0.0f);
            std::fill_n(d_values_.row(i), e, 0.0f);
        }
        if (const int floats = layer.encodings.state_floats(); floats > 0) d_state_ = view(d_state, part.rows, floats);
        if (layer.encodings.reads() & reads_keys) part.cache->keys(layer.index, kv, 0, view(s_.keys, part.rows, e));
    }

    void run() {
        const int group = shape_.n_heads / shape_.n_kv_heads;
        for (int head = kv_ * group; head < (kv_ + 1) * group; ++head) {
            const View dq = cols_of(d_q_, head * shape_.d_head, shape_.d_head);
            for (int i = 0; i < dq.rows; ++i) std::fill_n(dq.row(i), dq.cols, 0.0f);
            for (int row = 0; row < dq.rows; row += tile_rows) tile(head, row, std::min(tile_rows, dq.rows - row));
        }
    }

private:
    // With P the weights, O = P V and D_i = dO_i . O_i:  dV = P^T dO,  dS = P * (dO V^T - D),
    // dQ = scale dS K,  dK = scale dS^T Q  (Dao et al. 2022, arXiv 2205.14135, appendix B). A sink is a key without
    // value.
    void tile(int head, int row, int rows) {
        const Kernels& k = kernels();
        const LayerEncodings& encodings = job_.layer.encodings;
        const KeyRange keys{job_.seen(row).first / KvCache::slab * KvCache::slab, job_.seen(row + rows - 1).last};
        const int n = keys.last - keys.first, e = shape_.d_head;
        const View weights{s_.weights, rows, n, stride_}, d_weights{s_.d_weights, rows, n, stride_};
        const View d_o = cols_of(rows_of(d_out_, row, rows), head * e, e), q = job_.queries({head, 1, row, rows}),
                   dq = cols_of(rows_of(d_q_, row, rows), head * e, e);
        const View own_keys = rows_of(keys_, keys.first, n), d_keys = rows_of(d_keys_, keys.first, n),
                   d_values = rows_of(d_values_, keys.first, n);
        const Tile t = job_.tile({head, 1, row, rows}, keys,
                                 encodings.reads() & reads_keys ? view(s_.keys + keys.first * e, n, e) : View{});
        float rescored[tile_rows], d_rescored[tile_rows] = {}; // for the sink of each row
        const bool passes = job_.passes_rescored();
        const Gradients gradient{.q = dq,
                                 .k = d_keys,
                                 .query_state = state_rows(row, rows),
                                 .key_state = state_rows(keys.first, n),
                                 .rescored = passes ? d_rescored : nullptr};

        const View o = job_.gathered({head, 1, row, rows});
        for (int r = 0; r < rows; ++r) // read one row at a time in through_softmax(), each from memory
            for (int j = 0; j < e; j += 16) __builtin_prefetch(o.row(r) + j);
        job_.products({head, 1, row, rows}, keys, s_.queries, weights);
        if (shape_.softcap != 0) copy(weights, s_.capped);
        if (job_.moments() & moment_bias) encodings.bias(weights, t);
        if (job_.moments() & moment_rescore) {
            copy(weights, s_.unscored);
            job_.rescore(weights, row, t, passes ? rescored : nullptr);
        }
        job_.normalise({head, 1, row, rows}, keys, weights, passes ? rescored : nullptr);

        k.product(rows, padded(n), e, 1, d_o.data, d_o.stride, 1, s_.values_t + keys.first, stride_, 0, s_.d_weights,
                  stride_);
        if (job_.moments() & moment_mix) encodings.mix_backward(d_o, weights, d_weights, t, gradient, grads_);
        k.product(n, e, rows, 1, s_.weights, 1, stride_, d_o.data, d_o.stride, 1, d_values.data, d_values.stride);
        through_softmax(head, row, weights, d_weights, gradient, passes ? rescored : nullptr);
        const View d_scores = d_weights;
        if (job_.moments() & moment_rescore) through_rescore(row, t, gradient, d_scores);
        if (job_.moments() & moment_bias) encodings.bias_backward(d_scores, t, gradient, grads_);
        if (shape_.softcap != 0) through_cap(d_scores);
        k.product(rows, e, n, shape_.scale, s_.d_weights, stride_, 1, own_keys.data, own_keys.stride, 1, dq.data,
                  dq.stride);
        k.product(n, e, rows, shape_.scale, s_.d_weights, 1, stride_, q.data, q.stride, 1, d_keys.data, d_keys.stride);
    }

    void copy(View from, float* to) const {
        for (int i = 0; i < from.rows; ++i) std::copy_n(from.row(i), from.cols, to + i * stride_);
    }
    View state_rows(int first, int count) const { return d_state_.data ? rows_of(d_state_, first, count) : View{}; }

    // A rotated output is not O: D is then the sum of P (dO V^T).
    void through_softmax(int head, int row, View weights, View d_weights, const Gradients& gradient,
                         float* rescored) const {
        const Kernels& k = kernels();
        const LayerEncodings& encodings = job_.layer.encodings;
        const bool sink = (job_.moments() & moment_sink) != 0, rotated = encodings.rotates(Role::output);
        for (int r = 0; r < weights.rows; ++r) {
            const float *p = weights.row(r), *o = job_.gathered({head, 1, row + r, 1}).row(0);
            float* ds = d_weights.row(r);
            const float d = rotated ? k.dot(weights.cols, p, ds)
                                    : k.dot(shape_.d_head, d_out_.row(row + r) + head * shape_.d_head, o);
            for (int j = 0; j < weights.cols; ++j) ds[j] = p[j] * (ds[j] - d);
            if (!sink) continue;
            double kept = 0;
            for (int j = 0; j < weights.cols; ++j) kept += p[j];
            encodings.sink_backward(static_cast<float>((kept - 1) * d),
                                    job_.query(head, row + r, rescored ? rescored + r : nullptr),
                                    row_of(gradient, r, 0, 0), grads_);
        }
    }
    void through_rescore(int row, const Tile& t, const Gradients& gradient, View d_scores) const {
        const View unscored{s_.unscored, d_scores.rows, d_scores.cols, stride_};
        for (int i = 0; i < d_scores.rows; ++i) {
            const Tile one = job_.row_of(t, row, i);
            const int first = one.first_key - t.first_key, count = static_cast<int>(one.keys.size());
            job_.layer.encodings.rescore_backward(cols_of(rows_of(d_scores, i, 1), first, count),
                                                  cols_of(rows_of(unscored, i, 1), first, count), one,
                                                  row_of(gradient, i, first, count), grads_);
        }
    }
    void through_cap(View d_scores) const { // s -> cap tanh(s / cap)
        for (int i = 0; i < d_scores.rows; ++i)
            for (int j = 0; j < d_scores.cols; ++j) {
                const float t = s_.capped[i * stride_ + j] / shape_.softcap;
                d_scores.row(i)[j] *= 1 - t * t;
            }
    }

    const AttentionShape& shape_;
    TileJob job_;
    View out_, d_out_, d_q_; // of all heads
    int kv_;
    AttentionGradient::Scratch s_;
    int stride_;
    TensorGradients grads_;
    View keys_, d_keys_, d_values_; // [keys, e], of this key/value head
    View d_state_;
};

// Sums the items' gradients of the state, and passes them to OBSERVE.
void observe_backward(const AttentionLayer& layer, std::span<const Part> parts, View normed,
                      AttentionGradient& gradient, View d_normed, const TensorGradients& grads) {
    const int floats = layer.encodings.state_floats(), kv_heads = layer.shape.n_kv_heads;
    for (std::size_t p = 0; p < parts.size(); ++p) {
        const Part& part = parts[p];
        const int first = static_cast<int>(p) * kv_heads;
        float* const sum = gradient.state(first);
        for (int item = first + 1; item < first + kv_heads; ++item)
            kernels().add(part.rows * floats, gradient.state(item), sum);
        const int row = static_cast<int>(p) * part.rows;
        layer.encodings.observe_backward(
            view(sum, part.rows, floats), rows_of(normed, row, part.rows), part.cache->positions(part.first, part.rows),
            part.cache->state(layer.index, part.first, part.rows), rows_of(d_normed, row, part.rows), grads);
    }
}

// x and dx [n, heads * e]: the rows of one role, rotated. The gradient of the state is added to the first item's.
void rotate_backward(const AttentionLayer& layer, std::span<const Part> parts, Role role, View x, View dx,
                     AttentionGradient& gradient, const TensorGradients& grads) {
    const LayerEncodings& encodings = layer.encodings;
    if (!encodings.rotates(role)) return;
    const int floats = encodings.reads_states() ? encodings.state_floats() : 0;
    for (std::size_t p = 0; p < parts.size(); ++p) {
        const Part& part = parts[p];
        const int row = static_cast<int>(p) * part.rows, item = static_cast<int>(p) * layer.shape.n_kv_heads;
        const HeadRows rows{layer.index,
                            0,
                            x.cols / layer.shape.d_head,
                            role,
                            part.cache->positions(part.first, part.rows),
                            floats > 0 ? part.cache->state(layer.index, part.first, part.rows) : View{}};
        encodings.rotate_backward(rows_of(dx, row, part.rows), rows_of(x, row, part.rows), rows,
                                  floats > 0 ? view(gradient.state(item), part.rows, floats) : View{}, grads);
    }
}

} // namespace

AttentionGradient::AttentionGradient(std::span<const AttentionShape> shapes, int sequences, int length,
                                     std::size_t item_floats, int state_floats)
    : slots_(thread_count()), stride_(padded(length)), d_head_(shapes.front().d_head),
      scratch_floats_(floats_of_thread(shapes.front(), length)), item_floats_(item_floats),
      state_floats_(static_cast<std::size_t>(length) * static_cast<std::size_t>(state_floats)),
      scratch_(scratch_floats_ * static_cast<std::size_t>(slots_)),
      tensors_(items_of(shapes.front(), sequences) * item_floats_),
      states_(items_of(shapes.front(), sequences) * state_floats_) {}

AttentionGradient::Scratch AttentionGradient::of_slot(int slot) {
    const auto t = static_cast<std::size_t>(stride_), e = static_cast<std::size_t>(d_head_);
    float* const p = scratch_.data() + scratch_floats_ * static_cast<std::size_t>(slot);
    float* const tiles = p + t * e;
    const std::size_t tile = tile_rows * t;
    float* const keys = tiles + 4 * tile;
    return {p,   tiles, tiles + tile, tiles + 2 * tile, tiles + 3 * tile, reinterpret_cast<std::byte*>(keys + t * e),
            keys};
}

namespace {

// Runs all items, whose views come from read(part) and d(part). Then sums their gradients of the tensors.
template <class ReadOf, class GradientOf>
void run_items(const AttentionLayer& layer, std::span<const Part> parts, const ReadOf& read, const GradientOf& d,
               View out, View d_out, AttentionGradient& gradient, const TensorGradients& grads) {
    const int kv_heads = layer.shape.n_kv_heads, items = static_cast<int>(parts.size()) * kv_heads;
    const std::size_t tensor_floats = floats_of(grads);
    parallel_for_slots(
        items, gradient.slots(),
        [&](std::ptrdiff_t i, int slot) {
            const auto item = static_cast<int>(i), p = item / kv_heads;
            const Part& part = parts[p];
            const int row = p * part.rows;
            std::fill_n(gradient.tensors(item), tensor_floats, 0.0f);
            Item(layer, part, read(p), rows_of(out, row, part.rows), rows_of(d_out, row, part.rows), d(p),
                 item % kv_heads, gradient, slot, gradient.state(item), laid_out(grads, gradient.tensors(item)))
                .run();
        },
        Cost::equal);
}

} // namespace

void attention_backward(const AttentionLayer& layer, std::span<const Part> parts, View qkv, View normed, View out,
                        View d_out, AttentionGradient& gradient, View d_qkv, View d_normed,
                        const TensorGradients& grads) {
    const int rows = parts.front().rows, items = static_cast<int>(parts.size()) * layer.shape.n_kv_heads;
    const LayerEncodings& encodings = layer.encodings;
    if (encodings.state_floats() > 0)
        parallel_for(items, 1, [&](std::ptrdiff_t item) {
            std::fill_n(gradient.state(static_cast<int>(item)), std::ptrdiff_t{rows} * encodings.state_floats(), 0.0f);
        });
    rotate_backward(layer, parts, Role::output, out, d_out, gradient, grads);
    const auto of = [&](View all) {
        return [&layer, all, rows](int part) { return read_of(layer.shape, rows_of(all, part * rows, rows)); };
    };
    run_items(layer, parts, of(qkv), of(d_qkv), out, d_out, gradient, grads);
    if (encodings.moments() & moment_rotate) {
        const Read x = read_of(layer.shape, qkv), dx = read_of(layer.shape, d_qkv);
        rotate_backward(layer, parts, Role::query, x.q, dx.q, gradient, grads);
        rotate_backward(layer, parts, Role::key, x.k, dx.k, gradient, grads);
        rotate_backward(layer, parts, Role::value, x.v, dx.v, gradient, grads);
    }
    if (encodings.moments() & moment_observe) observe_backward(layer, parts, normed, gradient, d_normed, grads);
    std::ptrdiff_t at = 0;
    for (const std::vector<View>& views : grads)
        for (const View& v : views) {
            const std::ptrdiff_t n = static_cast<std::ptrdiff_t>(v.rows) * v.cols;
            add_items(items, gradient.item_stride(), gradient.tensors(0) + at, n, v.data);
            at += n;
        }
}

void cross_attention_backward(const AttentionLayer& layer, std::span<const Part> parts, View q, View kv, View out,
                              View d_out, AttentionGradient& gradient, View d_q, View d_kv) {
    const int rows = parts.front().rows, memory = kv.rows / static_cast<int>(parts.size());
    const auto of = [&](View queries, View remembered) {
        return [&layer, queries, remembered, rows, memory](int part) {
            return read_of(layer.shape, rows_of(queries, part * rows, rows),
                           rows_of(remembered, part * memory, memory));
        };
    };
    run_items(layer, parts, of(q, kv), of(d_q, d_kv), out, d_out, gradient, {});
}

} // namespace ordo
