// SPDX-License-Identifier: MIT
#include "encoding/lookup.h"

#include "encoding/table.h"

namespace ordo {

Table rows_table(View weight, int first, int count) {
    Table table = make_matrix("dim", 0, weight.cols, count);
    for (int i = 0; i < count; ++i)
        std::copy_n(weight.row(first + i), weight.cols, table.rows[static_cast<std::size_t>(i)].begin());
    return table;
}

} // namespace ordo
