// SPDX-License-Identifier: MIT
// Encodings without a model, and tables of them that several experiments use.
#pragma once

#include "encoding/base/loose_encoding.h"

namespace ordo::lab {

// Dims of a model with `heads` heads of width d_head. The other dims do not affect an encoding without tensors.
inline Dims dims_of(int d_head, int heads = 1) {
    return {d_head * heads, heads, d_head, 1, 256};
}

// Rows start .. start + length - 1 of the sinusoidal table [length, width], or another part of it.
Table sinusoidal_table(int width, int length, std::string_view part = {}, int start = 0);

// ALiBi's slope of each head.
std::vector<double> alibi_slopes(int heads);

// One column of a table.
std::vector<double> column_of(const Table& table, std::size_t column);

} // namespace ordo::lab
