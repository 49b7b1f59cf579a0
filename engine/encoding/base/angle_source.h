// SPDX-License-Identifier: MIT
// The angles that tokens choose for their queries and keys: the kinds of selective-rope. Each group of heads that
// shares a key head has its own.
#pragma once

#include "core/tensor.h"
#include "encoding/base/registered.h"

#include <vector>

namespace ordo {

// Sizes: columns of the input, equal parts of it that are normed, groups. A number of a pair is taken times its factor.
struct AngleSizes {
    int width, parts, groups;
    std::vector<double> factors; // of each pair of a head's columns
};

class AngleSource {
public:
    explicit AngleSource(AngleSizes sizes);
    AngleSource(const AngleSource&) = delete;
    AngleSource& operator=(const AngleSource&) = delete;
    virtual ~AngleSource() = default;

    virtual std::vector<TensorSpec> tensors() const = 0; // per layer
    // Of a token: first the fraction of a turn, from about -1/2 to 1/2, for each group and pair. If a fraction is a sum
    // over tokens, the remainder of the double follows in a second float, count() further.
    virtual int state_floats() const { return 2 * count(); }
    // As Encoding::prepare(), for the tensors of each slot in turn.
    virtual void prepare(int /*slot*/, std::span<const View> /*tensors*/) {}
    // As Encoding::observe and its backward. slot: of the tensors.
    virtual void observe(View x, int slot, std::span<const View> tensors, const float* before, View state) const = 0;
    virtual void observe_backward(View d_state, View x, std::span<const View> tensors, View state, View dx,
                                  std::span<const View> grads) const = 0;
    virtual Operations operations(double tokens) const = 0;
    double factor(int pair) const { return sizes_.factors[pair]; }

protected:
    static TensorSpec matrix(const char* name, int rows, int cols) {
        return {.name = name, .shape = {rows, cols}, .per_layer = true};
    }
    int pairs() const { return static_cast<int>(sizes_.factors.size()); }
    int count() const { return sizes_.groups * pairs(); }
    // A number in two floats, count() apart: all bits of a double but the last 5.
    double number_at(const float* high) const {
        return static_cast<double>(*high) + static_cast<double>(high[count()]);
    }
    // Adds up number(t, i) times the turns of a number 1, in n columns of the state from c on. before: as in observe().
    // One call and many calls give a sequence the same bits.
    template <class Number>
    void add_turns(int c, int n, const float* before, View state, const Number& number) const;
    Tensor add_turns_backward(View d_state) const; // [n, count]: the gradients of the summands

    AngleSizes sizes_;
    std::vector<double> turns_; // the turns of a number 1, of each group and pair
};

// sum over l <= t of f_l, f = conv(up down x^), x^: each part of x divided by its norm. Tensors down [rank, width], up
// [groups * pairs, rank], convolution [groups * pairs, kernel], oldest token first.
std::unique_ptr<AngleSource> selective_angles(AngleSizes sizes, int rank, int kernel);
// sum over l <= t of f_(l,g)^k for pair k, f = 1 / (1 + softplus(frequency x)), frequency [groups, width].
std::unique_ptr<AngleSource> carope_angles(AngleSizes sizes);
// out (silu(gate x) * (content x)) of each group, no sum: gate, content [rank, width], out [groups, rank].
std::unique_ptr<AngleSource> repo_angles(AngleSizes sizes, int rank);

} // namespace ordo
