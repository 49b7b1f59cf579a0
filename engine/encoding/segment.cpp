// SPDX-License-Identifier: MIT
// Segments: a trained row for each part of the input (a question and its context, say), added to the
// embedding x [n, d_model] beside an encoding of the positions.
//   x_i += S[segment_i],  S = weight [count, d_model]
// Without segment ids all rows are of segment 0, whose row is still added.
// Devlin et al. 2019 (BERT), arXiv 1810.04805, section 3.
#include "encoding/base/row_table.h"

#include <cassert>

namespace ordo {
namespace {

class Segment final : public RowTable {
public:
    using RowTable::RowTable;

    void parameters(Params& p) override { p.integer("count", count_, 1, 1 << 16, "segments that there are"); }
    int max_segment() const override { return count_; }

    std::int64_t n_rows() const override { return count_; }
    int row_of(const TokenRows& rows, std::size_t i) const override {
        const int segment = rows.segments.empty() ? 0 : rows.segments[i];
        assert(segment >= 0 && segment < count_);
        return segment;
    }

private:
    int count_ = 2;
};

} // namespace

const EncodingInfo segment_encoding = {
    .name = "segment",
    .summary = "adds a trained row for the segment that a token belongs to",
    .paper = "Devlin et al. 2019, arXiv 1810.04805",
    .formula = "x_i -> x_i + S[segment_i]",
    .make = make_registered<Segment>,
};

} // namespace ordo
