// SPDX-License-Identifier: MIT
#include "encoding/base/row_table.h"

namespace ordo {

const EncodingInfo segment_encoding = {
    .name = "segment",
    .summary = "adds a trained row for the segment that a token belongs to",
    .paper = "Devlin et al. 2019, arXiv 1810.04805",
    .formula = "x_i -> x_i + S[segment_i]",
    .make = segment_file::make,
};

namespace segment_file {

// The paper's section 3. It complements an encoding of the positions. Without segment ids all rows are in segment 0.
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

std::unique_ptr<RegisteredEncoding> make(const Dims& dims) {
    return make_registered<Segment>(dims);
}

} // namespace segment_file
} // namespace ordo
