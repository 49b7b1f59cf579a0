// SPDX-License-Identifier: MIT
#include "tools/lab/study/encodings.h"

namespace ordo::lab {

Table sinusoidal_table(int width, int length, std::string_view part, int start) {
    return LooseEncoding("sinusoidal", dims_of(width)).table(length, part, start);
}

std::vector<double> alibi_slopes(int heads) {
    return column_of(LooseEncoding("alibi", dims_of(8, heads)).table(1, "slopes"), 1);
}

std::vector<double> column_of(const Table& table, std::size_t column) {
    std::vector<double> out;
    for (const std::vector<double>& row : table.rows) out.push_back(row[column]);
    return out;
}

} // namespace ordo::lab
