// SPDX-License-Identifier: MIT
// Segments: a trained row for each part of the input (a question and its context, say), added to the
// embedding x [n, d_model] beside an encoding of the positions.
//   x_i += S[segment_i],  S = weight [count, d_model]
// Without segment ids all rows are of segment 0, whose row is still added.
// Devlin et al. 2019 (BERT), arXiv 1810.04805, section 3.
#include "core/error.h"
#include "encoding/lookup.h"
#include "encoding/registry.h"
#include "encoding/table.h"

#include <cassert>

namespace ordo {
namespace {

class Segment final : public Encoding {
public:
    Segment(int count, int d_model) : count_(count), d_model_(d_model) {}

    std::string spec() const override { return SpecWriter("segment")("count", count_).text(); }
    unsigned moments() const override { return moment_embed; }
    int max_segment() const override { return count_; }

    std::vector<TensorSpec> tensors() const override { return {{.name = "weight", .shape = {count_, d_model_}}}; }
    void bind(int, std::span<const View> tensors) override { weight_ = tensors[0]; }

    void embed(View x, const TokenRows& rows) const override {
        add_rows(x, weight_, [&](std::ptrdiff_t i) { return row_of(rows, i); });
    }
    void embed_backward(View dx, View, const TokenRows& rows, std::span<const View> grads) const override {
        add_rows_backward(dx, grads[0], [&](std::ptrdiff_t i) { return row_of(rows, i); });
    }

    Operations operations(Moment moment, const Work& work) const override {
        return {.others = moment == moment_embed ? d_model_ * work.tokens : 0};
    }

    // A row for each segment; start and length are about positions and change nothing.
    TableRows table_rows(const TableRequest& request) const override {
        checked_part(*this, request);
        if (!weight_.data)
            fail(ErrorCode::usage, "segment: the table is in the weights: expected a model file, found none");
        return rows_table(weight_, 0, count_);
    }

private:
    int row_of(const TokenRows& rows, std::ptrdiff_t i) const {
        const int segment = rows.segments.empty() ? 0 : rows.segments[static_cast<std::size_t>(i)];
        assert(segment >= 0 && segment < count_);
        return segment;
    }

    int count_, d_model_;
    View weight_; // [count, d_model]
};

std::unique_ptr<Encoding> make(const SpecItem& item, const Dims& dims) {
    return std::make_unique<Segment>(item.integer("count", 2, 1, 1 << 16), dims.d_model);
}

} // namespace

extern const EncodingInfo segment_encoding;
const EncodingInfo segment_encoding = {
    .name = "segment",
    .summary = "adds a trained row for the segment that a token belongs to",
    .paper = "Devlin et al. 2019, arXiv 1810.04805",
    .formula = "x_i -> x_i + S[segment_i]",
    .moments = moment_embed,
    .shift_invariant = true,
    .trainable = true,
    .parameters = {{"count", "2", "segments that there are"}},
    .make = make,
};

} // namespace ordo
