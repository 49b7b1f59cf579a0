// SPDX-License-Identifier: MIT
// Learned positions: a trained row for each position, added to the embedding x [n, d_model].
//   x_p += W[p + offset],  W = weight [length + offset, d_model],  p = 0 .. length - 1
// There is nothing beyond the table: max_position() is length, and positions past it are refused
// before anything is computed. offset = 2 is the layout of OPT's files, whose first two rows are unused.
// Gehring et al. 2017, arXiv 1705.03122; Devlin et al. 2019, arXiv 1810.04805; Zhang et al. 2022 (OPT),
// arXiv 2205.01068.
#include "core/error.h"
#include "encoding/lookup.h"
#include "encoding/registry.h"
#include "encoding/table.h"

#include <cassert>

namespace ordo {
namespace {

class Learned final : public Encoding {
public:
    Learned(int length, int offset, int d_model) : length_(length), offset_(offset), d_model_(d_model) {}

    std::string spec() const override { return SpecWriter("learned")("length", length_)("offset", offset_).text(); }
    unsigned moments() const override { return moment_embed; }
    bool shift_invariant() const override { return false; }
    int max_position() const override { return length_; }

    std::vector<TensorSpec> tensors() const override {
        return {{.name = "weight", .shape = {std::int64_t{length_} + offset_, d_model_}}};
    }
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

    TableRows table_rows(const TableRequest& request) const override {
        checked_part(*this, request);
        if (!weight_.data)
            fail(ErrorCode::usage, "learned: the table is in the weights: expected a model file, found none");
        return rows_table(weight_, request.start + offset_, request.length);
    }

private:
    int row_of(const TokenRows& rows, std::ptrdiff_t i) const {
        const int position = rows.positions[static_cast<std::size_t>(i)];
        assert(position >= 0 && position < length_);
        return position + offset_;
    }

    int length_, offset_, d_model_;
    View weight_; // [length + offset, d_model]
};

std::unique_ptr<Encoding> make(const SpecItem& item, const Dims& dims) {
    const int length = item.integer("length", dims.context, 1, 1 << 24);
    const int offset = item.integer("offset", 0, 0, 1 << 24);
    return std::make_unique<Learned>(length, offset, dims.d_model);
}

} // namespace

extern const EncodingInfo learned_encoding;
const EncodingInfo learned_encoding = {
    .name = "learned",
    .summary = "adds a trained row for each position; none exists beyond the table",
    .paper = "Gehring et al. 2017, arXiv 1705.03122; Devlin et al. 2019, arXiv 1810.04805",
    .formula = "x_p -> x_p + W[p + offset],  p < length",
    .moments = moment_embed,
    .shift_invariant = false,
    .trainable = true,
    .parameters = {{"length", "context", "positions that the table has a row for"},
                   {"offset", "0", "rows before that of position 0; 2 for OPT"}},
    .make = make,
};

} // namespace ordo
