// SPDX-License-Identifier: MIT
// Encodings without a model. Their own tensors, if any, have their initial values.
#pragma once

#include "core/tensor.h"
#include "encoding/base/model_encodings.h"

namespace ordo {

class LooseEncoding {
public:
    // Draws the tensors as training does. Throws Error(usage) for an invalid spec.
    LooseEncoding(std::string_view spec, const Dims& dims, std::uint64_t seed = 1);

    const ModelEncodings& stack() const { return stack_; }
    // One of its tables; see Encoding::table.
    Table table(int length, std::string_view part = {}, int start = 0, int head = 0) const;
    // Encodes rows x [n, d] at positions start, start + 1, ... Throws Error(limit) beyond the last position.
    void embed(View x, int start = 0) const;

private:
    int width_;
    ModelEncodings stack_;
    std::vector<Tensor> tensors_;
};

} // namespace ordo
