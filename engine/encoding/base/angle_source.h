// SPDX-License-Identifier: MIT
// Numbers that tokens choose for the angles of their queries and keys: the kinds of selective-rope. Each group of heads
// that shares a key head has its own.
#pragma once

#include "encoding/base/registered.h"

namespace ordo {

// Sizes: columns of the input, equal parts of it that are normed, groups, pairs of a head's columns.
struct AngleSizes {
    int width, parts, groups, pairs;
};

class AngleSource {
public:
    explicit AngleSource(const AngleSizes& sizes) : sizes_(sizes) {}
    AngleSource(const AngleSource&) = delete;
    AngleSource& operator=(const AngleSource&) = delete;
    virtual ~AngleSource() = default;

    virtual std::vector<TensorSpec> tensors() const = 0; // per layer
    // Of a token: first a running sum for each group and pair, as a float_pair.h, or a number for each group.
    virtual int state_floats() const = 0;
    // As Encoding::observe and its backward. The gradient of a sum is in the first float of its pair.
    virtual void observe(View x, std::span<const View> tensors, const float* before, View state) const = 0;
    virtual void observe_backward(View d_state, View x, std::span<const View> tensors, View state, View dx,
                                  std::span<const View> grads) const = 0;
    virtual Operations operations(double tokens) const = 0;

protected:
    static TensorSpec matrix(const char* name, int rows, int cols) {
        return {.name = name, .shape = {rows, cols}, .per_layer = true};
    }
    int count() const { return sizes_.groups * sizes_.pairs; }
    AngleSizes sizes_;
};

// sum over l <= t of f_l, f = conv(up down x^), x^: each part of x divided by its norm. Tensors down [rank, width], up
// [groups * pairs, rank], convolution [groups * pairs, kernel], oldest token first.
std::unique_ptr<AngleSource> selective_angles(const AngleSizes& sizes, int rank, int kernel);
// sum over l <= t of f_(l,g)^k for pair k, f = 1 / (1 + softplus(frequency x)), frequency [groups, width].
std::unique_ptr<AngleSource> carope_angles(const AngleSizes& sizes);
// out (silu(gate x) * (content x)) of each group, no sum: gate, content [rank, width], out [groups, rank].
std::unique_ptr<AngleSource> repo_angles(const AngleSizes& sizes, int rank);

} // namespace ordo
