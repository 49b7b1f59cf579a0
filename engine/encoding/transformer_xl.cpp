// SPDX-License-Identifier: MIT
#include "core/error.h"
#include "core/parallel.h"
#include "encoding/base/projection.h"
#include "encoding/base/registered.h"
#include "encoding/base/relative.h"
#include "kernels/kernels.h"

#include <cmath>

namespace ordo {

const EncodingInfo transformer_xl_encoding = {
    .name = "transformer-xl",
    .summary = "multiplies queries with projected sinusoids of the distance, and adds trained biases",
    .paper = "Dai et al. 2019, arXiv 1901.02860",
    .formula = "score(i, j) = ((q_i + u_h) . k_j + (q_i + v_h) . r_h(p_i - p_j)) * scale\n"
               "r(t) = W s(t),  s(t) = [sin(t w_k) .., cos(t w_k) ..],  w_k = 10000^(-2k/width)",
    .make = transformer_xl_file::make,
};

namespace transformer_xl_file {

constexpr std::size_t max_table_floats = std::size_t{1} << 26; // 256 MiB, in all layers
constexpr int ahead = 64;            // later keys in a causal model, which a tile may compute and then mask
constexpr int scratch_floats = 2048; // of an array on a stack that may have 64 KiB

// r_h of the relative positions p_j - p_i = -t from `first` on, a row for each, and their sinusoids.
struct Vectors {
    Vectors(std::int64_t first_row, View s, int e, Mask mask)
        : first(first_row), sinusoids(s), rows(s.rows, e),
          table(static_cast<int>(first), static_cast<int>(first) + s.rows - 1, mask) {}
    void compute(View projection) {
        project(sinusoids, projection, rows.view());
        table.bind(rows.view());
        table.prepare();
    }

    std::int64_t first;
    View sinusoids; // [rows, width]
    Tensor rows;    // [rows, d_head]
    RelativeTable table;
};
// Some pairs of a tile, from query `top` and key `left` on.
struct Part {
    const Tile& tile;
    int top, left;
    View q; // q + v
    const Vectors& vectors;

    View of(View scores) const {
        return {scores.row(top) + left, q.rows, static_cast<int>(tile.keys.size()), scores.stride};
    }
};
Tile part_of(Tile tile, int top, int n_queries, int left, int n_keys) {
    tile.queries = tile.queries.subspan(top, n_queries);
    tile.keys = tile.keys.subspan(left, n_keys);
    tile.q = rows_of(tile.q, top, n_queries);
    tile.first_query += top;
    tile.first_key += left;
    return tile;
}

// Section 3.3. Distances are looked up directly: there is no "relative shift". ROTATE adds u to the queries, so that
// q.k holds both content terms; BIAS reads q + u. prepare() computes r of all distances once for each layer. Farther
// tiles compute their own, by the same sums.
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
    void prepare(int n_positions) override {
        const bool causal = dims().mask == Mask::causal;
        const std::size_t floats = static_cast<std::size_t>(2 * slots() * heads()) * dims().d_head + width_;
        const auto most = static_cast<int>(std::min<std::size_t>(max_table_floats / floats, 1 << 24));
        int back = std::min(n_positions, causal ? most : most / 2);
        back = (back + relative_span - 1) / relative_span * relative_span; // so that spans of pairs are the same
        if (vectors_.empty() || back > -vectors_[0].first) {
            sinusoids_ = sinusoids(-back, back + (causal ? ahead : back + 1));
            vectors_.clear();
            for (int table = 0; table < slots() * heads(); ++table)
                vectors_.emplace_back(-back, sinusoids_.view(), dims().d_head, dims().mask);
        }
        for (int table = 0; table < slots() * heads(); ++table)
            vectors_[table].compute(projection_of(table / heads(), table % heads()));
    }

    bool rotates(Role role) const override { return role == Role::query; }
    unsigned alone_at() const override { return moment_rotate; } // BIAS takes u from the queries again
    void rotate(View x, const HeadRows& rows) const override {
        const View u = tensor(slot(rows.layer), 1);
        for (int i = 0; i < x.rows; ++i) kernels().add(x.cols, u.row(rows.first_head), x.row(i));
    }
    void rotate_backward(View dx, View, const HeadRows& rows, const Gradients& grads) const override {
        for (int i = 0; i < dx.rows; ++i) kernels().add(dx.cols, dx.row(i), grads.tensors[1].row(rows.first_head));
    }

    void bias(View scores, const Tile& tile) const override {
        for_parts(tile, 0, 0, [&](const Part& part) {
            part.vectors.table.add_products(tile.scale, part.q, part.tile, part.of(scores));
        });
    }
    // With G_t = the sum of the gradients of the scores at the distance t times q_i + v:
    //   d (q_i + v) = sum_j g_ij r(t_ij),  dW = sum_t G_t s(t)^T
    void bias_backward(View d_scores, const Tile& tile, const Gradients& gradient) const override {
        const int e = dims().d_head;
        const View dw = rows_of(gradient.tensors[0], tile.head * e, e);
        float *du = gradient.tensors[1].row(tile.head), *dv = gradient.tensors[2].row(tile.head);
        for_parts(tile, 0, 0, [&](const Part& part) {
            const View s = part.vectors.sinusoids;
            const RelativeTable& table = part.vectors.table;
            const View g = part.of(d_scores);
            alignas(64) float dq[scratch_floats] = {};
            table.add_rows(tile.scale, g, part.tile, view(dq, g.rows, e));
            for (int i = 0; i < g.rows; ++i) {
                kernels().add(e, dq + i * e, gradient.q.row(part.top + i));
                kernels().add(e, dq + i * e, dv);
                kernels().axpy(e, -1, dq + i * e, du); // q includes u, and the distance term does not
            }
            Tensor sums(s.rows, e);
            table.add_gradient(tile.scale, g, part.q, part.tile, sums.view());
            table.for_spans(part.tile, [&](int row, int n) {
                kernels().product(e, width_, n, 1, sums.view().row(row), 1, e, s.row(row), s.stride, 1, dw.data,
                                  dw.stride);
            });
        });
    }

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
    View projection_of(int slot, int head) const {
        return rows_of(tensor(slot, 0), head * dims().d_head, dims().d_head);
    }
    double component(std::int64_t row, int c) const {
        const int n = width_ / 2;
        const double angle = static_cast<double>(-row) * frequencies_[c < n ? c : c - n];
        return c < n ? std::sin(angle) : std::cos(angle);
    }
    Tensor sinusoids(std::int64_t first, int count) const {
        Tensor s(count, width_);
        parallel_for(count, std::max(1, 8192 / width_), [&](std::ptrdiff_t i) {
            for (int c = 0; c < width_; ++c) s.data()[i * width_ + c] = static_cast<float>(component(first + i, c));
        });
        return s;
    }

    // Calls use(part) for parts that cover a tile. A tile whose positions have large gaps is split until it has none.
    template <class Use>
    void for_parts(const Tile& tile, int top, int left, const Use& use) const {
        const int n = static_cast<int>(tile.queries.size()), m = static_cast<int>(tile.keys.size()), e = dims().d_head;
        if (n == 0 || m == 0) return;
        const RelativePairs pairs({}, tile.queries, tile.keys);
        if (n * e > scratch_floats || (n > 1 && pairs.sparse())) {
            for_parts(part_of(tile, 0, n / 2, 0, m), top, left, use);
            return for_parts(part_of(tile, n / 2, n - n / 2, 0, m), top + n / 2, left, use);
        }
        if (pairs.sparse()) {
            for_parts(part_of(tile, 0, n, 0, m / 2), top, left, use);
            return for_parts(part_of(tile, 0, n, m / 2, m - m / 2), top, left + m / 2, use);
        }
        const int slot = this->slot(tile.layer);
        const float *u = tensor(slot, 1).row(tile.head), *v = tensor(slot, 2).row(tile.head);
        alignas(64) float q[scratch_floats];
        for (int i = 0; i < n; ++i)
            for (int c = 0; c < e; ++c) q[i * e + c] = tile.q.row(i)[c] + (v[c] - u[c]);
        const auto use_all = [&](const Vectors& vectors) { use(Part{tile, top, left, view(q, n, e), vectors}); };
        const Vectors& near = vectors_[slot * heads() + tile.head];
        if (near.table.covers(tile)) return use_all(near);
        const std::int64_t first = RelativePairs::down(pairs.first_row(), relative_span, 0);
        Tensor s = sinusoids(first, static_cast<int>(pairs.last_row() - first) + 1);
        Vectors far(first, s.view(), e, first > 0 ? Mask::bidirectional : dims().mask);
        far.compute(projection_of(slot, tile.head));
        use_all(far);
    }

    int width_ = dims().d_model / 2 * 2;
    std::vector<double> frequencies_;
    std::vector<Vectors> vectors_; // of each head of each slot
    Tensor sinusoids_;             // of all of them
};

std::unique_ptr<RegisteredEncoding> make(const Dims& dims) {
    return make_registered<TransformerXl>(dims);
}

} // namespace transformer_xl_file
} // namespace ordo
