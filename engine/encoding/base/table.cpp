// SPDX-License-Identifier: MIT
#include "encoding/base/table.h"

#include "core/error.h"
#include "encoding/base/spec.h"

#include <algorithm>
#include <cmath>

namespace ordo {

std::string checked_part(const Encoding& encoding, const TableRequest& request) {
    const std::string spec = encoding.spec();
    const std::string_view name = name_of(spec);
    if (request.length < 1 || request.length > max_table_cells)
        fail(ErrorCode::usage, name, ": table: length: expected 1 to ", max_table_cells, ", found ", request.length);
    if (request.start < 0) fail(ErrorCode::usage, name, ": table: start: expected 0 or more, found ", request.start);
    if (const int most = encoding.limits().given(); request.start > most - request.length)
        fail(ErrorCode::limit, name, ": table: expected positions below ", most, ", found ",
             std::int64_t{request.start} + request.length - 1);
    const std::vector<std::string> parts = encoding.table_parts();
    if (parts.empty()) fail(ErrorCode::usage, name, ": there is no table to show");
    if (request.part.empty()) return parts.front();
    if (std::find(parts.begin(), parts.end(), request.part) == parts.end()) {
        const std::vector<std::string_view> words(parts.begin(), parts.end());
        fail(ErrorCode::usage, name, ": table: part: expected ", one_of(request.part, words), ", found '",
             printable(request.part), "'");
    }
    return request.part;
}

void check_table_layer(const Encoding& encoding, const Dims& dims, const TableRequest& request) {
    if (dims.slot(request.layer) < 0)
        fail(ErrorCode::usage, printable(name_of(encoding.spec())),
             ": table: layer: expected one that it acts in, found ", request.layer);
}

void check_table_head(const Encoding& encoding, int n_heads, const TableRequest& request) {
    if (request.head < 0 || request.head >= n_heads)
        fail(ErrorCode::usage, printable(name_of(encoding.spec())), ": table: head: expected 0 to ", n_heads - 1,
             ", found ", request.head);
}

namespace {

void check_size(std::int64_t rows, std::int64_t cols, int most) {
    if (cols > 0 && rows > most / cols)
        fail(ErrorCode::limit, "table: expected at most ", most, " numbers, found ", rows, " x ", cols);
}

} // namespace

TableRows make_table(std::vector<std::string> header, std::int64_t rows, FillRow fill) {
    check_size(rows, static_cast<std::int64_t>(header.size()), max_table_cells);
    return {std::move(header), rows, std::move(fill)};
}

TableRows make_matrix(std::string_view word, int first, int cols, std::int64_t rows, FillRow fill) {
    check_size(rows, cols, max_table_cells); // before a header of that width is made
    std::vector<std::string> header;
    for (int i = 0; i < cols; ++i) header.push_back(std::string(word) + std::to_string(first + i));
    return make_table(std::move(header), rows, std::move(fill));
}

TableRows make_values(const TableRequest& request, std::string_view word, int cols,
                      std::function<double(int position, int col)> value) {
    return make_matrix(word, 0, cols, request.length,
                       [start = request.start, value = std::move(value)](std::int64_t i, std::span<double> out) {
                           for (std::size_t j = 0; j < out.size(); ++j)
                               out[j] = value(start + static_cast<int>(i), static_cast<int>(j));
                       });
}

TableRows rows_table(View rows, int first, int count, std::string_view word) {
    return make_matrix(word, 0, rows.cols, count, [=](std::int64_t i, std::span<double> out) {
        std::copy_n(rows.row(first + static_cast<int>(i)), rows.cols, out.begin());
    });
}

TableRows make_bias_matrix(const TableRequest& request, Mask mask, std::function<double(int query, int key)> value) {
    return make_matrix(
        "key", request.start, request.length, request.length,
        [mask, value = std::move(value), start = request.start](std::int64_t row, std::span<double> out) {
            const int query = start + static_cast<int>(row);
            for (std::size_t j = 0; j < out.size(); ++j) {
                const int key = start + static_cast<int>(j);
                out[j] = mask == Mask::causal && key > query ? -INFINITY : value(query, key);
            }
        });
}

namespace {

TableRows embed_table(const Encoding& encoding, const TableRequest& request) {
    const int width = request.width, start = request.start;
    if (width < 1) fail(ErrorCode::usage, "table: width: expected 1 or more, found ", width);
    return make_matrix("dim", 0, width, request.length, [=, &encoding](std::int64_t i, std::span<double> out) {
        std::vector<float> row(out.size());
        const int position = start + static_cast<int>(i);
        encoding.embed({row.data(), 1, width, width}, {Positions({&position, 1}), {}});
        std::copy(row.begin(), row.end(), out.begin());
    });
}

TableRows bias_table(const Encoding& encoding, const TableRequest& request) {
    return make_bias_matrix(request, Mask::causal, [=, &encoding](int query, int key) {
        float score = 0;
        encoding.bias({&score, 1, 1, 1}, {.layer = request.layer,
                                          .head = request.head,
                                          .first_query = query - request.start,
                                          .first_key = key - request.start,
                                          .queries = Positions({&query, 1}),
                                          .keys = Positions({&key, 1})});
        return static_cast<double>(score);
    });
}

} // namespace

TableRows Encoding::table_rows(const TableRequest& request) const {
    checked_part(*this, request);
    if (moments() & moment_embed) return embed_table(*this, request);
    if ((moments() & moment_bias) && reads() == 0) return bias_table(*this, request);
    fail(ErrorCode::usage, printable(name_of(spec())), ": there is no table to show");
}

Table Encoding::table(const TableRequest& request) const {
    TableRows rows = table_rows(request);
    check_size(rows.count, static_cast<std::int64_t>(rows.header.size()), max_held_table_cells);
    Table table{std::move(rows.header), {}};
    for (std::int64_t i = 0; i < rows.count; ++i) rows.fill(i, table.rows.emplace_back(table.header.size()));
    return table;
}

} // namespace ordo
