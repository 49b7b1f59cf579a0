// SPDX-License-Identifier: MIT
// Encodings without a model: their own tensors, if they have any, hold what training begins with.
#pragma once

#include "core/tensor.h"
#include "encoding/base/stack.h"

namespace ordo::tools {

class LooseEncoding {
public:
    // Tensors are drawn as training draws them. Throws Error(usage) for a spec that cannot be made.
    LooseEncoding(std::string_view spec, const Dims& dims, std::uint64_t seed = 1);

    const EncodingStack& stack() const { return stack_; }
    // One of its tables; see Encoding::table.
    Table table(int length, std::string_view part = {}, int start = 0, int head = 0) const;
    // Rows x [n, d] with their encoding, at positions start, start + 1, ... Throws Error(limit) beyond the last.
    void embed(View x, int start = 0) const;

private:
    int width_;
    EncodingStack stack_;
    std::vector<Tensor> tensors_;
};

} // namespace ordo::tools
