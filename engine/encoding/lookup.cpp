// SPDX-License-Identifier: MIT
#include "encoding/lookup.h"

#include "encoding/table.h"

namespace ordo {

TableRows rows_table(View weight, int first, int count) {
    return make_matrix("dim", 0, weight.cols, count, [=](std::int64_t i, std::span<double> out) {
        std::copy_n(weight.row(first + static_cast<int>(i)), weight.cols, out.begin());
    });
}

} // namespace ordo
