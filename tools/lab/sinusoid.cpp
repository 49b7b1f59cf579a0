// SPDX-License-Identifier: MIT
#include "tools/lab/sinusoid.h"

#include <algorithm>

namespace ordo::lab {

Table sinusoidal_table(int width, int length, int start, const std::string& part) {
    const auto encodings = make_encodings("sinusoidal", {width, 1, width, 1, 256});
    return encodings[0]->table({.length = length, .start = start, .head = 0, .width = width, .part = part});
}

std::pair<double, double> range_of(const Table& table, std::size_t column) {
    const auto less = [column](const auto& a, const auto& b) { return a[column] < b[column]; };
    const auto [least, most] = std::minmax_element(table.rows.begin(), table.rows.end(), less);
    return {(*least)[column], (*most)[column]};
}

} // namespace ordo::lab
