// SPDX-License-Identifier: MIT
// A throw-away that is trained on embeddings: x += W[p mod 7].
#include "encoding/registry.h"

namespace ordo {
namespace {

constexpr int count = 7;

class ThrowawayRows final : public Encoding {
public:
    explicit ThrowawayRows(int d_model) : d_model_(d_model) {}
    std::string spec() const override { return "throwaway-rows"; }
    std::vector<std::string> table_parts() const override { return {}; } // it is in the weights
    unsigned moments() const override { return moment_embed; }
    bool shift_invariant() const override { return false; }

    std::vector<TensorSpec> tensors() const override {
        return {{.name = "weight", .shape = {count, d_model_}, .initial = InitialValues::normal(0.1f)}};
    }
    void bind(int, std::span<const View> tensors) override { weight_ = tensors[0]; }

    void embed(View x, const TokenRows& rows) const override {
        for (int i = 0; i < x.rows; ++i) add(weight_.row(row_of(rows, i)), x.row(i));
    }
    // dx stays as it is.
    void embed_backward(View dx, View, const TokenRows& rows, std::span<const View> grads) const override {
        for (int i = 0; i < dx.rows; ++i) add(dx.row(i), grads[0].row(row_of(rows, i)));
    }

    Operations operations(Moment moment, const Work& work) const override {
        return {.others = moment == moment_embed ? d_model_ * work.tokens : 0};
    }

private:
    static int row_of(const TokenRows& rows, int i) { return rows.positions[static_cast<std::size_t>(i)] % count; }
    void add(const float* from, float* to) const {
        for (int j = 0; j < d_model_; ++j) to[j] += from[j];
    }

    int d_model_;
    View weight_; // [count, d_model]
};

std::unique_ptr<Encoding> make(const SpecItem& item, const Dims& dims) {
    item.finish();
    return std::make_unique<ThrowawayRows>(dims.d_model);
}

} // namespace

extern const EncodingInfo throwaway_rows_encoding;
const EncodingInfo throwaway_rows_encoding = {.name = "throwaway-rows",
                                              .summary = "adds one of seven trained rows in turn",
                                              .paper = "none",
                                              .formula = "x += W[p mod 7]",
                                              .moments = moment_embed,
                                              .shift_invariant = false,
                                              .trainable = true,
                                              .parameters = {},
                                              .make = make};

} // namespace ordo
