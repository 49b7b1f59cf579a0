// SPDX-License-Identifier: MIT
// Transformer-XL's relative positions: projected sinusoids of the distance, and two trained vectors u and v that act as
// queries.
//   score(i, j) = (q_i . k_j + u_h . k_j + (q_i + v_h) . r_h(p_i - p_j)) * scale
//   r(t) = W s(t),  s(t) = [sin(t w_0) .. sin(t w_(n-1)), cos(t w_0) .. cos(t w_(n-1))],  w_k = 10000^(-k/n)
//   n = width/2
// Each layer has projection W [n_heads * d_head, width], and u and v [n_heads, d_head]; r_h are rows h of r. Dai et al.
// 2019, arXiv 1901.02860, section 3.3. Distances are looked up directly: there is no "relative shift".
//
// ROTATE adds u to the queries, so that q.k holds both content terms; BIAS reads q + u. prepare() computes r of all
// distances once for each layer. A score then costs only as much again as q.k. Distances beyond the table's limit are
// computed when needed, by the same sums.
//   d score/d q_i = sum_j g_ij r(t_ij) = W T_i,  d score/d W = sum_i (q_i + v) T_i^T,  T_i = sum_j g_ij s(t_ij)
#include "core/error.h"
#include "core/parallel.h"
#include "encoding/base/registered.h"
#include "encoding/base/relative.h"
#include "kernels/kernels.h"

#include <cmath>

namespace ordo {
namespace transformer_xl_file {
namespace {

constexpr std::size_t max_table_floats = std::size_t{1} << 26; // 256 MiB of r, in all layers
constexpr int ahead = 64;            // later keys in a causal model, which a tile computes and then masks
constexpr int scratch_floats = 2048; // of an array on a stack that may have 64 KiB
constexpr int slab = TurnedRows::slab;
constexpr int sinusoid_columns = 256; // of a gradient, computed at once

class TransformerXl final : public RegisteredEncoding {
public:
    using RegisteredEncoding::RegisteredEncoding;
    void parameters(Params& p) override {
        even(p, "width", width_, 1 << 16, "columns of the sinusoid, which W projects; even", "d_model");
    }
    void ready() override {
        if (dims().d_head > scratch_floats)
            fail(ErrorCode::usage, "transformer-xl: expected heads of at most ", scratch_floats, " columns, found ",
                 dims().d_head);
        for (int k = 0; k < width_ / 2; ++k) frequencies_.push_back(std::pow(10000.0, -2.0 * k / width_));
    }
    unsigned reads() const override { return reads_queries; }

    // The tensors start as in the authors' code: normal, 0.02.
    std::vector<TensorSpec> tensors() const override {
        const std::int64_t heads = dims().n_heads, e = dims().d_head;
        return {per_layer("projection", {heads * e, width_}), per_layer("u", {heads, e}), per_layer("v", {heads, e})};
    }
    void prepare(int n_positions) override;

    bool rotates(Role role) const override { return role == Role::query; }
    unsigned alone_at() const override { return moment_rotate; } // BIAS takes u from the queries again
    void rotate(View x, const HeadRows& rows) const override {
        const View u = tensor(slot(rows.layer), 1);
        for (int i = 0; i < x.rows; ++i)
            for (int h = 0; h < rows.n_heads; ++h)
                kernels().add(u.cols, u.row(rows.first_head + h), x.row(i) + h * u.cols);
    }
    void rotate_backward(View dx, View, const HeadRows& rows, const Gradients& grads) const override {
        const View du = grads.tensors[1];
        for (int i = 0; i < dx.rows; ++i)
            for (int h = 0; h < rows.n_heads; ++h)
                kernels().add(du.cols, dx.row(i) + h * du.cols, du.row(rows.first_head + h));
    }
    void bias(View scores, const Tile& tile) const override;
    void bias_backward(View d_scores, const Tile& tile, const Gradients& gradient) const override;

    Operations operations(Moment moment, const Work& work) const override {
        const double e = dims().d_head;
        if (moment == moment_rotate) return {.others = e * work.query_rows};
        if (moment != moment_bias) return {};
        return {2 * e * work.pairs, e * work.query_rows + work.pairs};
    }

    // sinusoid: s(t), t = start .. ; vectors: r_h(t) of one head.
    std::vector<NamedTable> tables() const override {
        const auto s = [this](int t, int c) { return component(-t, c); };
        return {{"sinusoid", [=, this](const TableRequest& request) { return make_values(request, "dim", width_, s); }},
                {"vectors", [=, this](const TableRequest& request) {
                     const int slot = requested_slot(request);
                     check_table_head(*this, heads(), request);
                     const View w = projection_of(slot, request.head);
                     return make_values(request, "dim", w.rows, [=, this](int t, int i) {
                         double sum = 0;
                         for (int c = 0; c < width_; ++c) sum += static_cast<double>(w.row(i)[c]) * s(t, c);
                         return sum;
                     });
                 }}};
    }

private:
    // Rows are p_j - p_i = -t, as in RelativePairs. The prepared rows are [first_, end()).
    std::int64_t end() const { return first_ + prepared_; }
    bool is_prepared(std::int64_t row) const { return row >= first_ && row < end(); }
    // The number of rows, out of `count` from this one, that are all prepared or all not prepared.
    int alike(std::int64_t row, int count) const {
        const std::int64_t until = row < first_ ? first_ : row < end() ? end() : row + count;
        return static_cast<int>(std::min<std::int64_t>(count, until - row));
    }

    View projection_of(int slot, int head) const {
        return rows_of(tensor(slot, 0), head * dims().d_head, dims().d_head);
    }
    double component(std::int64_t row, int c) const {
        const int n = width_ / 2;
        const double angle = static_cast<double>(-row) * frequencies_[c < n ? c : c - n];
        return c < n ? std::sin(angle) : std::cos(angle);
    }
    float stored(std::int64_t row, int c) const {
        return is_prepared(row) ? sinusoids_.data()[(row - first_) * width_ + c]
                                : static_cast<float>(component(row, c));
    }

    void vectors(int slot, int head, std::int64_t row, int count, View columns, float* out, int stride) const;
    void products(float alpha, int slot, int head, View q, std::int64_t row, int count, View out) const;
    void add_sinusoids(float alpha, const float* weights, std::int64_t row, int count, int column, View to) const;
    int queries_at_once() const { return std::min(relative_tile, scratch_floats / dims().d_head); }
    View shifted(int slot, const Tile& tile, int top, int count, float* scratch) const;

    int width_ = dims().d_model / 2 * 2;
    std::vector<double> frequencies_;
    std::vector<TurnedRows> vectors_; // r of each head of each slot, of the prepared rows
    Buffer<float> sinusoids_;         // [prepared_, width], s(-row) of the prepared rows
    std::int64_t first_ = 0;
    int prepared_ = 0;
};

// Computes r_h of some rows: out [d_head, count], stride apart. Every r is computed here. columns [slab, count or more]
// is working memory for columns of s, one below the other.
void TransformerXl::vectors(int slot, int head, std::int64_t row, int count, View columns, float* out,
                            int stride) const {
    const View w = projection_of(slot, head);
    for (int first = 0; first < width_; first += slab) {
        const int some = std::min(slab, width_ - first);
        for (int j = 0; j < count; ++j)
            for (int c = 0; c < some; ++c) columns.row(c)[j] = stored(row + j, first + c);
        kernels().product(w.rows, count, some, 1, w.data + first, w.stride, 1, columns.data, columns.stride,
                          first == 0 ? 0.0f : 1.0f, out, stride);
    }
}

void TransformerXl::prepare(int n_positions) {
    const std::size_t floats = static_cast<std::size_t>(slots()) * static_cast<std::size_t>(heads() * dims().d_head) +
                               static_cast<std::size_t>(width_);
    const auto most = static_cast<int>(std::min<std::size_t>(max_table_floats / floats, 1 << 24));
    const bool causal = dims().mask == Mask::causal;
    int back = std::min(n_positions, causal ? most - ahead : most / 2) - 1;
    back = (back + slab - 1) / slab * slab; // so that spans of pairs begin at slabs
    if (back > -first_) {                   // beyond the prepared rows
        first_ = -back;
        prepared_ = back + (causal ? ahead : back + slab);
        sinusoids_ = Buffer<float>(static_cast<std::size_t>(prepared_) * static_cast<std::size_t>(width_));
        vectors_.clear();
        parallel_for(prepared_, std::max(1, 8192 / width_), [&](std::ptrdiff_t i) {
            float* row = sinusoids_.data() + i * width_;
            for (int c = 0; c < width_; ++c) row[c] = static_cast<float>(component(first_ + i, c));
        });
    }
    const int rows = prepared_, tables = slots() * heads(), slabs = (rows + slab - 1) / slab;
    while (static_cast<int>(vectors_.size()) < tables) vectors_.emplace_back(rows, dims().d_head);
    const int grain = std::max(1, (1 << 16) / (dims().d_head * width_)); // slabs that are worth waking a thread
    parallel_for(std::ptrdiff_t{tables} * slabs, grain, [&](std::ptrdiff_t i) {
        const int table = static_cast<int>(i / slabs), row = static_cast<int>(i % slabs) * slab;
        float columns[slab * slab];
        vectors(table / heads(), table % heads(), first_ + row, std::min(slab, rows - row), view(columns, slab, slab),
                vectors_[table].slab_of(row), slab);
    });
}

// out [q.rows, count] = alpha * q . r_h of some rows
void TransformerXl::products(float alpha, int slot, int head, View q, std::int64_t row, int count, View out) const {
    const int e = dims().d_head, most = std::min(relative_vector, scratch_floats / e);
    for (int done = 0, some = 0; done < count; done += some) {
        const std::int64_t at = row + done;
        const View to = cols_of(out, done, count - done);
        some = alike(at, count - done);
        if (is_prepared(at)) {
            vectors_[slot * heads() + head].multiply(alpha, q, static_cast<int>(at - first_), some, to);
            continue;
        }
        some = std::min(some, most);
        alignas(64) float r[scratch_floats], columns[slab * relative_vector];
        vectors(slot, head, at, some, view(columns, slab, relative_vector), r, most);
        kernels().product(q.rows, some, e, alpha, q.data, q.stride, 1, r, most, 0, to.data, to.stride);
    }
}

// q + v for some of a tile's queries, which already include u.
View TransformerXl::shifted(int slot, const Tile& tile, int top, int count, float* scratch) const {
    const View out = view(scratch, count, dims().d_head);
    const float *u = tensor(slot, 1).row(tile.head), *v = tensor(slot, 2).row(tile.head);
    for (int i = 0; i < count; ++i)
        for (int c = 0; c < out.cols; ++c) out.row(i)[c] = tile.q.row(top + i)[c] + (v[c] - u[c]);
    return out;
}

void TransformerXl::bias(View scores, const Tile& tile) const {
    const int slot = this->slot(tile.layer);
    for_query_tiles({}, tile.queries, tile.keys, queries_at_once(), [&](int top, int n, const RelativePairs& pairs) {
        alignas(64) float scratch[scratch_floats];
        alignas(64) RelativeProducts p;
        const View q = shifted(slot, tile, top, n, scratch), to = rows_of(scores, top, n);
        if (!pairs.sparse()) {
            pairs.for_spans(0, [&](std::int64_t row, int span) {
                products(tile.scale, slot, tile.head, q, row, span, {p[0], n, span, relative_span});
                pairs.spread(p, row, span, to);
            });
            return;
        }
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < scores.cols; ++j) {
                const std::int64_t row = pairs.row(i, j);
                const int before = is_prepared(row) ? static_cast<int>((row - first_) % relative_vector) : 0;
                products(tile.scale, slot, tile.head, rows_of(q, i, 1), row - before, 1 + before,
                         view(p[0], 1, relative_span));
                to.row(i)[j] += p[0][before];
            }
    });
}

// to [n, ..] += alpha * weights[i][r] times columns of s(-(row + r)), starting at `column`. One product adds up the
// rows of a span, prepared or not.
void TransformerXl::add_sinusoids(float alpha, const float* weights, std::int64_t row, int count, int column,
                                  View to) const {
    const auto add = [&](const float* s, std::ptrdiff_t stride, const View& columns) {
        kernels().product(to.rows, columns.cols, count, alpha, weights, relative_span, 1, s, stride, 1, columns.data,
                          to.stride);
    };
    if (is_prepared(row) && is_prepared(row + count - 1))
        return add(sinusoids_.data() + (row - first_) * width_ + column, width_, to);
    constexpr int some = 32;
    float s[relative_span][some];
    for (int first = 0; first < to.cols; first += some) {
        const int n = std::min(some, to.cols - first);
        for (int r = 0; r < count; ++r)
            for (int c = 0; c < n; ++c) s[r][c] = stored(row + r, column + first + c);
        add(s[0], some, cols_of(to, first, n));
    }
}

void TransformerXl::bias_backward(View d_scores, const Tile& tile, const Gradients& gradient) const {
    const int slot = this->slot(tile.layer);
    const View w = projection_of(slot, tile.head), dw = rows_of(gradient.tensors[0], tile.head * w.rows, w.rows);
    float *du = gradient.tensors[1].row(tile.head), *dv = gradient.tensors[2].row(tile.head);
    for_query_tiles({}, tile.queries, tile.keys, queries_at_once(), [&](int top, int n, const RelativePairs& pairs) {
        alignas(64) float scratch[scratch_floats], dq[scratch_floats], t[relative_tile][sinusoid_columns];
        alignas(64) RelativeProducts p;
        const View q = shifted(slot, tile, top, n, scratch), weights = rows_of(d_scores, top, n);
        for (int column = 0; column < width_; column += sinusoid_columns) {
            const int some = std::min(sinusoid_columns, width_ - column);
            const View sums = {t[0], n, some, sinusoid_columns};
            std::fill_n(t[0], n * sinusoid_columns, 0.0f);
            if (!pairs.sparse())
                pairs.for_spans(0, [&](std::int64_t row, int span) {
                    pairs.collect(weights, row, span, p);
                    add_sinusoids(tile.scale, p[0], row, span, column, sums);
                });
            else
                for (int i = 0; i < n; ++i)
                    for (int j = 0; j < weights.cols; ++j)
                        add_sinusoids(tile.scale, weights.row(i) + j, pairs.row(i, j), 1, column, rows_of(sums, i, 1));
            kernels().product(w.rows, some, n, 1, q.data, 1, q.stride, t[0], sinusoid_columns, 1, dw.data + column,
                              dw.stride);
            kernels().dots(n, w.rows, some, w.data + column, w.stride, t[0], sinusoid_columns, dq, w.rows);
            for (int i = 0; i < n; ++i) {
                kernels().add(w.rows, dq + i * w.rows, gradient.q.row(top + i));
                kernels().add(w.rows, dq + i * w.rows, dv);
                kernels().axpy(w.rows, -1, dq + i * w.rows, du); // q includes u, and the distance term does not
            }
        }
    });
}

} // namespace
} // namespace transformer_xl_file

const EncodingInfo transformer_xl_encoding = {
    .name = "transformer-xl",
    .summary = "multiplies queries with projected sinusoids of the distance, and adds trained biases",
    .paper = "Dai et al. 2019, arXiv 1901.02860",
    .formula = "score(i, j) = ((q_i + u_h) . k_j + (q_i + v_h) . r_h(p_i - p_j)) * scale\n"
               "r(t) = W s(t),  s(t) = [sin(t w_k) .., cos(t w_k) ..],  w_k = 10000^(-2k/width)",
    .make = make_registered<transformer_xl_file::TransformerXl>,
};

} // namespace ordo
