// SPDX-License-Identifier: MIT
// A throw-away encoding with trained embeddings: x += W[p mod 7].
#include "encoding/base/row_table.h"

namespace ordo {

const EncodingInfo throwaway_rows_encoding = {.name = "throwaway-rows",
                                              .summary = "adds one of seven trained rows in turn",
                                              .paper = "none",
                                              .formula = "x += W[p mod 7]",
                                              .make = throwaway_rows_file::make};

namespace throwaway_rows_file {

class ThrowawayRows final : public RowTable {
public:
    using RowTable::RowTable;
    int shift_invariant_below() const override { return 0; }
    std::int64_t n_rows() const override { return 7; }
    int row_of(const TokenRows& rows, std::size_t i) const override { return rows.positions[i] % 7; }
};

std::unique_ptr<RegisteredEncoding> make(const Dims& dims) {
    return make_registered<ThrowawayRows>(dims);
}

} // namespace throwaway_rows_file
} // namespace ordo
