// SPDX-License-Identifier: MIT
#include "layers/linear.h"

#include "core/blas.h"
#include "core/error.h"
#include "core/parallel.h"
#include "kernels/kernels.h"
#include "ops/sums.h"

#include <algorithm>

namespace ordo {
namespace {

constexpr int elements_per_thread = 32768; // below this a thread costs more than it saves

void add_bias(View bias, View y) {
    const Kernels& k = kernels();
    for (int i = 0; i < y.rows; ++i) k.add(y.cols, bias.data, y.row(i));
}

// Calls body(first, count) for every strip of outputs. One thread computes an output in a fixed order, so that the bits
// are the same for any number of threads.
template <class Body>
void for_outputs(int outputs, int strip, std::int64_t work, const Body& body) {
    const int strips = (outputs + strip - 1) / strip;
    const std::int64_t grain =
        std::max<std::int64_t>(1, elements_per_thread / std::max<std::int64_t>(1, work / strips));
    parallel_for(strips, grain, [&](std::ptrdiff_t i) {
        const int first = static_cast<int>(i) * strip;
        body(first, std::min(strip, outputs - first));
    });
}

QuantProduct quant_product(const Kernels& k, WeightType type) {
    switch (type) {
    case WeightType::q8_0:
        return k.product_q8_0;
    case WeightType::q4_0:
        return k.product_q4_0;
    case WeightType::q4_1:
        return k.product_q4_1;
    case WeightType::q5_0:
        return k.product_q5_0;
    case WeightType::q5_1:
        return k.product_q5_1;
    case WeightType::iq4_nl:
        return k.product_iq4_nl;
    case WeightType::q2_K:
        return k.product_q2_K;
    case WeightType::q3_K:
        return k.product_q3_K;
    case WeightType::q4_K:
        return k.product_q4_K;
    case WeightType::q5_K:
        return k.product_q5_K;
    case WeightType::q6_K:
        return k.product_q6_K;
    case WeightType::iq4_xs:
        return k.product_iq4_xs;
    case WeightType::f32:
    case WeightType::f16:
    case WeightType::bf16:
        break;
    }
    return nullptr;
}

// The outputs that a thread computes at once: two panels, which suit tiles best, unless threads would be idle.
int outputs_at_once(int outputs) {
    const int two = 2 * panel_outputs;
    return outputs < two * thread_count() ? panel_outputs : two;
}

// bias(first, count) adds the bias, if any, to finished outputs.
template <class Bias>
void quantised_product(View x, const Matrix& weight, RowScratch& scratch, View y, const Bias& bias) {
    const QuantRows rows = scratch.quantise(x);
    for (const Matrix::Band& band : weight.bands()) {
        const QuantProduct product = quant_product(kernels(), band.type);
        for_outputs(band.rows, outputs_at_once(band.rows), std::int64_t{x.rows} * x.cols * band.rows,
                    [&](int first, int count) {
                        product(x.rows, count, x.cols, band.panel(first / panel_outputs), band.panel_bytes, rows,
                                y.data + band.first + first, y.stride);
                        bias(band.first + first, count);
                    });
    }
}

template <class Bias>
void float_product(View x, const Matrix& weight, RowScratch& scratch, View y, Bf16Rows bf16_rows, const Bias& bias) {
    const Kernels& k = kernels();
    const Matrix::Band& band = weight.only_band();
    const std::int64_t work = std::int64_t{x.rows} * x.cols * y.cols;
    if (band.type == WeightType::bf16 && bf16_rows == Bf16Rows::rounded && k.product_bf16_pairs != nullptr) {
        const std::uint16_t* const rows = scratch.round_to_bf16(x);
        for_outputs(y.cols, outputs_at_once(y.cols), work, [&](int first, int count) {
            k.product_bf16_pairs(x.rows, count, x.cols, band.panel(first / panel_outputs), band.panel_bytes, rows,
                                 RowScratch::pair_stride(x.cols), y.data + first, y.stride, false);
            bias(first, count);
        });
        return;
    }
    const PanelProduct product = band.type == WeightType::f32   ? k.product_f32
                                 : band.type == WeightType::f16 ? k.product_f16
                                                                : k.product_bf16;
    for_outputs(y.cols, outputs_at_once(y.cols), work, [&](int first, int count) {
        product(x.rows, count, x.cols, band.panel(first / panel_outputs), band.panel_bytes, x.data, x.stride,
                y.data + first, y.stride);
        bias(first, count);
    });
}

// Weights in rows. BLAS results depend on the number of rows of x, so matrices that do not fill a panel avoid it,
// unless training multiplies pairs.
void row_product(View x, View weight, RowScratch& scratch, View y) {
    if (weight.rows >= panel_outputs || scratch.uses_pairs())
        return scratch.product(x, Transpose::no, weight, Transpose::yes, y);
    parallel_for(x.rows, std::max<std::ptrdiff_t>(1, elements_per_thread / (std::ptrdiff_t{x.cols} * y.cols)),
                 [&](std::ptrdiff_t i) {
                     const int row = static_cast<int>(i);
                     kernels().dots(1, weight.rows, x.cols, weight.data, weight.stride, x.row(row), x.stride,
                                    y.row(row), y.stride);
                 });
}

} // namespace

// Quantised: [rows, cols] values, then a scale and two sums for each 32 of them: 1.375 bytes for each number.
RowScratch::RowScratch(int rows, int cols)
    : memory_(sizeof(std::uint16_t) * static_cast<std::size_t>(rows) * static_cast<std::size_t>(pair_stride(cols))) {}

QuantRows RowScratch::quantise(View x) {
    const Kernels& k = kernels();
    const std::ptrdiff_t blocks = x.cols / quant_block, all = blocks * x.rows;
    auto* const values = reinterpret_cast<signed char*>(memory_.data());
    auto* const scales = reinterpret_cast<float*>(values + all * quant_block);
    int *const sums = reinterpret_cast<int*>(scales + all), *const first_sums = sums + all;
    parallel_for(x.rows, std::max(1, elements_per_thread / x.cols), [&](std::ptrdiff_t i) {
        k.quantise_row(x.cols, x.row(static_cast<int>(i)), values + i * x.cols, scales + i * blocks, sums + i * blocks,
                       first_sums + i * blocks);
    });
    return {values, scales, sums, first_sums, x.cols};
}

const std::uint16_t* RowScratch::round_to_bf16(View x) {
    const Kernels& k = kernels();
    auto* const values = reinterpret_cast<std::uint16_t*>(memory_.data());
    const std::ptrdiff_t stride = pair_stride(x.cols);
    parallel_for(x.rows, std::max(1, elements_per_thread / x.cols), [&](std::ptrdiff_t i) {
        std::uint16_t* const row = values + i * stride;
        k.round_to_bf16(x.cols, x.row(static_cast<int>(i)), row);
        if (x.cols % 2 != 0) row[x.cols] = 0;
    });
    return values;
}

void RowScratch::use_pairs() {
    if (!PairProducts::available())
        fail(ErrorCode::usage, "training: expected f32 products on this machine, found bf16 asked of the kernels ",
             kernels().name, ", which multiply no pairs of it");
    pairs_.emplace();
}

void RowScratch::product(View a, Transpose ta, View b, Transpose tb, View c, float beta) {
    if (pairs_)
        (*pairs_)(a, ta, b, tb, c, beta);
    else
        gemm(a, ta, b, tb, c, beta);
}

void linear(View x, const Linear& w, RowScratch& scratch, View y, Bf16Rows bf16_rows) {
    const Matrix& weight = w.weight;
    const auto bias = [&](int first, int count) {
        if (w.bias.data != nullptr) add_bias(cols_of(w.bias, first, count), cols_of(y, first, count));
    };
    if (!weight.packed()) {
        row_product(x, weight.view(), scratch, y);
        if (w.bias.data != nullptr)
            parallel_for(y.rows, std::max(1, 16384 / y.cols),
                         [&](std::ptrdiff_t i) { add_bias(w.bias, rows_of(y, static_cast<int>(i), 1)); });
        return;
    }
    if (quantised(weight.type()))
        quantised_product(x, weight, scratch, y, bias);
    else
        float_product(x, weight, scratch, y, bf16_rows, bias);
}

void linear_backward(View dy, View x, const Linear& w, RowScratch& scratch, View dx, bool accumulate,
                     const LinearGradient& d) {
    scratch.product(dy, Transpose::no, w.weight.view(), Transpose::no, dx, accumulate ? 1.0f : 0.0f);
    scratch.product(dy, Transpose::yes, x, Transpose::no, d.weight, 1.0f);
    if (d.bias.data) sum_rows(dy.rows, d.bias, [&](int i, float* sum) { kernels().add(dy.cols, dy.row(i), sum); });
}

} // namespace ordo
