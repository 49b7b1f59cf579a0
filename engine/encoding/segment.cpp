// SPDX-License-Identifier: MIT
// Segments: a trained row for each part of the input (for example a question and its context), added to the embedding x
// [n, d_model]. It complements an encoding of the positions. Without segment ids all rows are in segment 0.
//   x_i += S[segment_i],  S = weight [count, d_model]
// Devlin et al. 2019 (BERT), arXiv 1810.04805, section 3.
#include "encoding/base/row_table.h"

namespace ordo {
namespace segment_file {
namespace {

class Segment final : public RowTable {
public:
    using RowTable::RowTable;
    void parameters(Params& p) override { p.integer("count", count_, 1, 1 << 16, "segments that there are"); }
    Limits limits() const override { return {.segments = count_}; }
    std::int64_t n_rows() const override { return count_; }
    int row_of(const TokenRows& rows, std::size_t i) const override {
        return rows.segments.empty() ? 0 : rows.segments[i];
    }

private:
    int count_ = 2;
};

} // namespace
} // namespace segment_file

const EncodingInfo segment_encoding = {
    .name = "segment",
    .summary = "adds a trained row for the segment that a token belongs to",
    .paper = "Devlin et al. 2019, arXiv 1810.04805",
    .formula = "x_i -> x_i + S[segment_i]",
    .make = make_registered<segment_file::Segment>,
};

} // namespace ordo
