// SPDX-License-Identifier: MIT
// Helpers for Encoding::table.
#pragma once

#include "encoding.h"

namespace ordo {

inline constexpr int max_table_cells = 1 << 30;      // of rows computed one at a time
inline constexpr int max_held_table_cells = 1 << 25; // of all rows at once

// Checks a request against an encoding and returns the requested part. Throws Error(usage or limit).
std::string checked_part(const Encoding& encoding, const TableRequest& request);
// Throws Error(usage) for a layer in which an encoding made for dims does not act, and for a head that does not exist.
void check_table_layer(const Encoding& encoding, const Dims& dims, const TableRequest& request);
void check_table_head(const Encoding& encoding, int n_heads, const TableRequest& request);
using FillRow = std::function<void(std::int64_t row, std::span<double> out)>;
// Throws Error(limit) if the table has more than max_table_cells numbers.
TableRows make_table(std::vector<std::string> header, std::int64_t rows, FillRow fill);
// The same with cols columns. For the word "dim" and first = 0 their names are "dim0", "dim1" ...
TableRows make_matrix(std::string_view word, int first, int cols, std::int64_t rows, FillRow fill);

// A row for each position of a request: cols columns of value(position, col), named after the word.
TableRows make_values(const TableRequest& request, std::string_view word, int cols,
                      std::function<double(int position, int col)> value);
// Rows of a matrix, starting with `first`.
TableRows rows_table(View rows, int first, int count, std::string_view word = "dim");

// The bias matrix [length, length] of queries by keys: value(query, key), or -inf where a causal mask hides the key.
TableRows make_bias_matrix(const TableRequest& request, Mask mask, std::function<double(int query, int key)> value);

} // namespace ordo
