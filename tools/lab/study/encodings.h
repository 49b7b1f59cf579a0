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
inline Table sinusoidal_table(int width, int length, std::string_view part = {}, int start = 0) {
    return LooseEncoding("sinusoidal", dims_of(width)).table(length, part, start);
}

// One column of a table.
inline std::vector<double> column_of(const Table& table, std::size_t column) {
    std::vector<double> out;
    for (const std::vector<double>& row : table.rows) out.push_back(row[column]);
    return out;
}

// The frequency of each pair of rope, or of rope with parameters, in radians per position.
inline std::vector<double> rope_frequencies(int d_head, std::string_view spec = "rope") {
    return column_of(LooseEncoding(std::string(spec), dims_of(d_head)).table(1, "frequency"), 1);
}

// ALiBi's slope of each head.
inline std::vector<double> alibi_slopes(int heads) {
    return column_of(LooseEncoding("alibi", dims_of(8, heads)).table(1, "slopes"), 1);
}

} // namespace ordo::lab
