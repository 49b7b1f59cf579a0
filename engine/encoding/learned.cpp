// SPDX-License-Identifier: MIT
#include "encoding/base/row_table.h"

namespace ordo {

const EncodingInfo learned_encoding = {
    .name = "learned",
    .summary = "adds a trained row for each position; none exists beyond the table",
    .paper = "Gehring et al. 2017, arXiv 1705.03122; Devlin et al. 2019, arXiv 1810.04805",
    .formula = "x_p -> x_p + W[p + offset],  p < length",
    .make = learned_file::make,
};

namespace learned_file {

// Positions past the table are refused. offset = 2 is the layout of OPT's files (Zhang et al. 2022, arXiv 2205.01068),
// whose first two rows are unused.
class Learned final : public RowTable {
public:
    using RowTable::RowTable;
    void parameters(Params& p) override {
        p.integer("length", length_, 1, 1 << 24, "the number of positions in the table", "context");
        p.integer("offset", offset_, 0, 1 << 24, "rows before that of position 0; 2 for OPT");
    }
    int shift_invariant_below() const override { return 0; }
    Limits limits() const override { return {.positions = length_}; }
    std::int64_t n_rows() const override { return std::int64_t{length_} + offset_; }
    int row_of(const TokenRows& rows, std::size_t i) const override { return rows.positions[i] + offset_; }
    TableRows shown(View weight, const TableRequest& request) const override {
        return rows_table(weight, request.start + offset_, request.length);
    }

private:
    int length_ = dims().context, offset_ = 0;
};

std::unique_ptr<RegisteredEncoding> make(const Dims& dims) {
    return make_registered<Learned>(dims);
}

} // namespace learned_file
} // namespace ordo
