// SPDX-License-Identifier: MIT
#pragma once

#include "core/parallel.h"
#include "core/tensor.h"
#include "layers/matrix.h"
#include "ops/pair_products.h"

#include <array>
#include <optional>

namespace ordo {

struct QuantRows;

struct Linear {
    Matrix weight; // [m, k]
    View bias;     // [1, m], or no data
};

// Memory for the rows of a product whose weights need them in another form than floats.
class RowScratch {
public:
    RowScratch() = default;
    RowScratch(int rows, int cols); // maximum sizes

    // x [n, k], k a multiple of 32, in blocks of 32 with one scale each.
    QuantRows quantise(View x);
    QuantRows quantised(View x); // the place of x after quantise()
    // x [n, k] as bf16, if the kernels support it; rows are pair_stride(k) apart.
    void round_to_bf16(View x);
    const std::uint16_t* bf16() const { return reinterpret_cast<const std::uint16_t*>(memory_.data()); }
    static std::ptrdiff_t pair_stride(int k) { return 2 * std::ptrdiff_t{row_distance((k + 1) / 2)}; }

    // Products of many f32 rows, for training: as gemm(), or by pairs of bf16 after use_pairs(). Throws Error(usage) if
    // the kernels do not support pairs.
    void use_pairs();
    bool uses_pairs() const { return pairs_.has_value(); }
    void product(View a, Transpose ta, View b, Transpose tb, View c, float beta = 0);

private:
    Buffer<std::byte> memory_; // of one form at a time
    std::optional<PairProducts> pairs_;
};

// How rows are multiplied with bf16 weights: rounded to bf16 where the kernels multiply pairs, or always as floats.
enum class Bf16Rows { rounded, floats };

// y [n, m] = x [n, k] * weight^T + bias. A row of y has the same bits whatever other rows x has. The exception is
// trained matrices, with unpacked weights of 32 rows or more, which use scratch.product(). If the weights are quantised
// or bf16, scratch must hold n rows of k.
//
// converted: whether scratch holds x already, by convert_rows(). then: called on one thread after y is complete.
void linear(View x, const Linear& w, RowScratch& scratch, View y, Bf16Rows rows = Bf16Rows::rounded,
            bool converted = false, const Then& then = {});
// Whether linear() with this matrix rounds or quantises its rows, and that alone.
bool converts_rows(const Linear& w, Bf16Rows rows);
void convert_rows(View x, const Linear& w, RowScratch& scratch, Bf16Rows rows);

// Units of a product's outputs. The thread that has computed a unit's outputs calls finish() for it. Threads then wait
// once less, and find the outputs in their own cache.
struct Range {
    int first, count;
};
class Units {
public:
    virtual int count() const = 0;
    virtual std::array<Range, 3> outputs(int unit) const = 0; // each from a panel on
    virtual void finish(int unit, int slot) const = 0;

protected:
    ~Units() = default;
};
// The outputs that a thread computes at once: two panels, which suit tiles best, unless threads would be idle.
int outputs_at_once(int outputs);
// Whether the weights should be multiplied by units: those in panels whose bands begin at multiples of panel_outputs,
// and which are small. For others, reading the memory in order is worth more.
bool has_units(const Linear& w);
// The same as linear(), by units on at most `slots` threads.
void linear_by_units(View x, const Linear& w, RowScratch& scratch, View y, Bf16Rows rows, bool converted,
                     const Units& units, int slots, const Then& then);

struct LinearGradient {
    View weight, bias; // in the shapes of a Linear; no data: none
};

// For y = linear(x, w) with weights in f32: dx = dy W, or added to dx. Adds the gradients of w to d.
void linear_backward(View dy, View x, const Linear& w, RowScratch& scratch, View dx, bool accumulate,
                     const LinearGradient& d);

} // namespace ordo
