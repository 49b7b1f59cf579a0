// SPDX-License-Identifier: MIT
// Encodings without a model: their own tensors, if they have any, hold random numbers.
#pragma once

#include "core/tensor.h"
#include "encoding/registry.h"

namespace ordo::lab {

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

// Of a model with so many heads of a width; what else it has does not matter to an encoding without tensors.
inline Dims dims_of(int d_head, int heads = 1) {
    return {d_head * heads, heads, d_head, 1, 256};
}

// Rows start .. start + length - 1 of the sinusoidal table that is added, [length, width], or another part of it.
Table sinusoidal_table(int width, int length, std::string_view part = {}, int start = 0);

// ALiBi's slope of each head.
std::vector<double> alibi_slopes(int heads);

// One column of a table.
std::vector<double> column_of(const Table& table, std::size_t column);

} // namespace ordo::lab
