// SPDX-License-Identifier: MIT
// Encodings that add a trained row to each embedding: x_i += weight[row_of(i)], weight [n_rows, d_model].
#pragma once

#include "encoding/base/registered.h"

namespace ordo {

class RowTable : public RegisteredEncoding {
public:
    using RegisteredEncoding::RegisteredEncoding;

    // ---- The formula -------------------------------------------------------------------------
    virtual std::int64_t n_rows() const = 0;
    virtual int row_of(const TokenRows& rows, std::size_t i) const = 0;
    // The rows in `ordo table`: all of them, whatever positions the request has.
    virtual TableRows shown(View weight, const TableRequest& request) const;

    // ---- Derived from the formula ------------------------------------------------------------
    std::vector<TensorSpec> tensors() const override {
        return {{.name = "weight", .shape = {n_rows(), dims().embedding_cols()}}};
    }
    void embed(View x, const TokenRows& rows) const override;
    void embed_backward(View dx, View x, const TokenRows& rows, const Gradients& grads) const override;
    Operations operations(Moment moment, const Work& work) const override {
        return {.others = moment == moment_embed ? 1.0 * dims().embedding_cols() * work.tokens : 0};
    }
    std::vector<NamedTable> tables() const override;
};

} // namespace ordo
