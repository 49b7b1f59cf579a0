// SPDX-License-Identifier: MIT
#include "encoding/base/relative_vectors.h"

#include "kernels/kernels.h"

namespace ordo {

void RelativeVectors::build() {
    all_ = vectors();
    tables_.resize(all_.size());
    wide_.resize(all_.size());
    for (std::size_t i = 0; i < all_.size(); ++i) {
        const Vectors& v = all_[i];
        const int least = v.reach != 0 ? -v.reach : v.least, most = v.reach != 0 ? v.reach : v.most;
        for (int n = 0; n < std::max(1, slots()) * (v.by_head ? heads() : 1); ++n)
            tables_[i].emplace_back(least, most, dims().mask);
    }
}

int RelativeVectors::row_of(const Vectors& v, int distance) const {
    const int row = std::clamp(bucket(distance), v.least, v.most) - v.least;
    return v.reversed ? v.most - v.least - row : row;
}

std::vector<TensorSpec> RelativeVectors::tensors() const {
    std::vector<TensorSpec> tensors;
    for (const Vectors& v : vectors())
        tensors.push_back(per_layer(
            v.name, {std::int64_t{v.most} - v.least + 1, std::int64_t{dims().d_head} * (v.by_head ? heads() : 1)}));
    return tensors;
}

View RelativeVectors::rows_of_head(std::size_t i, View tensor, int head) const {
    const View rows = all_[i].by_head ? cols_of(tensor, head * dims().d_head, dims().d_head) : tensor;
    return all_[i].reversed && all_[i].reach == 0 ? View{rows.row(rows.rows - 1), rows.rows, rows.cols, -rows.stride}
                                                  : rows;
}

void RelativeVectors::bind(int layer, std::span<const View> tensors) {
    RegisteredEncoding::bind(layer, tensors);
    for (std::size_t i = 0; i < all_.size(); ++i) {
        View rows = tensors[i];
        if (all_[i].reach != 0) {
            wide_[i].resize(static_cast<std::size_t>(std::max(1, slots())));
            Tensor& wide = wide_[i][slot(layer)];
            if (wide.rows() == 0) wide = Tensor(2 * all_[i].reach + 1, rows.cols);
            rows = wide.view();
        }
        for (int head = 0; head < (all_[i].by_head ? heads() : 1); ++head)
            tables_[i][slot(layer) * (all_[i].by_head ? heads() : 1) + head].bind(rows_of_head(i, rows, head));
    }
}

void RelativeVectors::prepare(int) {
    for (std::size_t i = 0; i < all_.size(); ++i)
        for (std::size_t s = 0; s < wide_[i].size(); ++s) {
            const View from = tensor(static_cast<int>(s), i), to = wide_[i][s].view();
            for (int row = 0; row < to.rows; ++row)
                std::copy_n(from.row(row_of(all_[i], row - all_[i].reach)), from.cols, to.row(row));
        }
    for (std::size_t i = 0; i < all_.size(); ++i)
        for (RelativeTable& table : tables_[i])
            if (!all_[i].of_keys) table.prepare();
}

void RelativeVectors::add_products(std::size_t i, float alpha, View scores, const Tile& tile) const {
    if (all_[i].of_keys)
        table(i, tile).add_products_of_keys(alpha, tile.k, tile, scores);
    else
        table(i, tile).add_products(alpha, tile.q, tile, scores);
}

void RelativeVectors::add_products_backward(std::size_t i, float alpha, View d_scores, const Tile& tile,
                                            const Gradients& gradient) const {
    const Vectors& v = all_[i];
    const View d_tensor = rows_of_head(i, gradient.tensors[i], tile.head);
    Tensor wide(v.reach != 0 ? 2 * v.reach + 1 : 0, d_tensor.cols);
    const View d_rows = v.reach != 0 ? wide.view() : d_tensor;
    if (all_[i].of_keys) {
        table(i, tile).add_rows_of_keys(alpha, d_scores, tile, gradient.k);
        table(i, tile).add_gradient_of_keys(alpha, d_scores, tile.k, tile, d_rows);
    } else {
        table(i, tile).add_rows(alpha, d_scores, tile, gradient.q);
        table(i, tile).add_gradient(alpha, d_scores, tile.q, tile, d_rows);
    }
    for (int row = 0; row < wide.rows(); ++row)
        kernels().add(d_rows.cols, d_rows.row(row), d_tensor.row(row_of(v, row - v.reach)));
}

std::vector<NamedTable> RelativeVectors::tables() const {
    std::vector<NamedTable> tables;
    for (std::size_t i = 0; i < all_.size(); ++i)
        tables.push_back(
            {all_[i].name, [this, i](const TableRequest& request) {
                 const int slot = requested_slot(request);
                 check_table_head(*this, heads(), request);
                 const View rows = table(i, slot, request.head).view();
                 std::vector<std::string> header = {"distance"};
                 for (int c = 0; c < rows.cols; ++c) header.push_back("dim" + std::to_string(c));
                 return make_table(
                     std::move(header), rows.rows,
                     [rows, least = all_[i].reach != 0 ? -all_[i].reach : all_[i].least](std::int64_t row, auto out) {
                         out[0] = static_cast<double>(least + row);
                         std::copy_n(rows.row(static_cast<int>(row)), rows.cols, out.begin() + 1);
                     });
             }});
    return tables;
}

} // namespace ordo
