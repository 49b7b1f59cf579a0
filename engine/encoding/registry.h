// SPDX-License-Identifier: MIT
// The registered encodings: one file each, listed in list.def.
#pragma once

#include "encoding/spec.h"

namespace ordo {

struct Parameter {
    std::string_view name;
    std::string_view fallback; // what it is when not given, as text: "10000", "sqrt(d_model)"
    std::string_view meaning;
};

// One encoding as its file describes it. A file defines `const EncodingInfo NAME_encoding`.
struct EncodingInfo {
    std::string_view name;    // as in a spec
    std::string_view summary; // one line
    std::string_view paper;   // "Vaswani et al. 2017, arXiv 1706.03762"
    std::string_view formula; // one or more lines
    unsigned moments = 0;     // Moment bits
    bool shift_invariant = true;
    bool trainable = false;
    std::vector<Parameter> parameters;
    std::unique_ptr<Encoding> (*make)(const SpecItem&, const Dims&) = nullptr;
};

// In the order of list.def.
std::span<const EncodingInfo* const> registered_encodings();
// Throws Error(usage) with the names that exist (and the nearest).
const EncodingInfo& find_encoding(std::string_view name);

// The encodings of one model, applied left to right.
class EncodingStack {
public:
    EncodingStack() = default;
    explicit EncodingStack(std::vector<std::unique_ptr<Encoding>> items);
    EncodingStack(std::string_view spec, const Dims& dims) : EncodingStack(make_encodings(spec, dims)) {}

    std::string spec() const; // canonical; "none" for the empty list
    unsigned moments() const;
    bool shift_invariant() const;
    int max_position() const; // the least of all
    int max_segment() const;  // likewise
    std::span<const std::unique_ptr<Encoding>> items() const { return items_; }

    // All tensors of all encodings, in order, as stored: "encoding.NAME.TENSOR", NAME being the part
    // of the encoding's spec before ':'.
    std::vector<TensorSpec> tensors() const;
    void bind(std::span<const View> tensors); // in the order of tensors()
    void prepare(int n_positions);

    void embed(View x, const TokenRows& rows) const;
    void rotate(View x, int n_heads, Positions positions, Role role, int layer) const;
    void rotate_backward(View dx, int n_heads, Positions positions, Role role, int layer) const;
    void bias(View scores, int layer, int head, Positions queries, Positions keys) const;

private:
    std::vector<std::unique_ptr<Encoding>> items_;
};

} // namespace ordo
