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
constexpr std::ptrdiff_t cache_line = 64;

void add_bias(View bias, View y) {
    const Kernels& k = kernels();
    for (int i = 0; i < y.rows; ++i) k.add(y.cols, bias.data, y.row(i));
}

// Calls body(first, count) for every strip of outputs, and then(). One thread computes an output in a fixed order, so
// that the bits are the same for any number of threads.
template <class Body>
void for_outputs(int outputs, int strip, std::int64_t work, const Body& body, const Then& then) {
    const int strips = (outputs + strip - 1) / strip;
    const std::int64_t grain =
        std::max<std::int64_t>(1, elements_per_thread / std::max<std::int64_t>(1, work / strips));
    parallel_for(
        strips, grain,
        [&](std::ptrdiff_t i) {
            const int first = static_cast<int>(i) * strip;
            body(first, std::min(strip, outputs - first));
        },
        then);
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

bool rounds(const Matrix& weight, Bf16Rows rows) {
    return weight.type() == WeightType::bf16 && rows == Bf16Rows::rounded && kernels().product_bf16_pairs != nullptr;
}

// Computes some outputs of a packed matrix, for rows that convert_rows() has converted.
class Outputs {
public:
    Outputs(View x, const Linear& w, RowScratch& scratch, View y, Bf16Rows rows)
        : x_(x), w_(w), y_(y), pairs_(rounds(w.weight, rows) ? scratch.bf16() : nullptr) {
        if (quantised(w.weight.type())) quantised_ = scratch.quantised(x);
        if (x.rows == 1) fetch_row();
    }

    // Of one band, from a panel on.
    void operator()(const Matrix::Band& band, int first, int count) const {
        const Kernels& k = kernels();
        const std::byte* const panels = band.panel(first / panel_outputs);
        float* const y = y_.data + band.first + first;
        if (const QuantProduct product = quant_product(k, band.type))
            product(x_.rows, count, x_.cols, panels, band.panel_bytes, quantised_, y, y_.stride);
        else if (pairs_)
            k.product_bf16_pairs(x_.rows, count, x_.cols, panels, band.panel_bytes, pairs_,
                                 RowScratch::pair_stride(x_.cols), y, y_.stride, false);
        else
            float_product(k, band.type)(x_.rows, count, x_.cols, panels, band.panel_bytes, x_.data, x_.stride, y,
                                        y_.stride);
        const int at = band.first + first;
        if (w_.bias.data != nullptr) add_bias(cols_of(w_.bias, at, count), cols_of(y_, at, count));
    }
    // Of all bands.
    void operator()(Range of) const {
        for (const Matrix::Band& band : w_.weight.bands()) {
            const int first = std::max(of.first - band.first, 0);
            const int last = std::min(of.first + of.count - band.first, band.rows);
            if (first < last) (*this)(band, first, last - first);
        }
    }

private:
    // Fetches a row that another thread has written. Products would wait for each of its lines in turn.
    void fetch_row() const {
        const auto* const p = quantised_.values ? reinterpret_cast<const char*>(quantised_.values)
                              : pairs_          ? reinterpret_cast<const char*>(pairs_)
                                                : reinterpret_cast<const char*>(x_.data);
        const std::ptrdiff_t bytes = quantised_.values ? 11 * x_.cols / 8 : pairs_ ? 2 * x_.cols : 4 * x_.cols;
        for (std::ptrdiff_t i = 0; i < bytes; i += cache_line) __builtin_prefetch(p + i);
    }
    static PanelProduct float_product(const Kernels& k, WeightType type) {
        return type == WeightType::f32 ? k.product_f32 : type == WeightType::f16 ? k.product_f16 : k.product_bf16;
    }

    View x_;
    const Linear& w_;
    View y_;
    QuantRows quantised_ = {};
    const std::uint16_t* pairs_;
};

// Quantised rows: [rows, cols] values, then a scale and two sums for each 32 of them: 1.375 bytes for each number.
struct QuantMemory {
    QuantMemory(std::byte* memory, View x)
        : blocks(x.cols / quant_block), values(reinterpret_cast<signed char*>(memory)),
          scales(reinterpret_cast<float*>(values + blocks * x.rows * quant_block)),
          sums(reinterpret_cast<int*>(scales + blocks * x.rows)), first_sums(sums + blocks * x.rows) {}

    std::ptrdiff_t blocks; // of a row
    signed char* values;
    float* scales;
    int *sums, *first_sums;
};

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

RowScratch::RowScratch(int rows, int cols)
    : memory_(sizeof(std::uint16_t) * static_cast<std::size_t>(rows) * static_cast<std::size_t>(pair_stride(cols))) {}

QuantRows RowScratch::quantise(View x) {
    const Kernels& k = kernels();
    const QuantMemory to(memory_.data(), x);
    parallel_for(x.rows, std::max(1, elements_per_thread / x.cols), [&](std::ptrdiff_t i) {
        k.quantise_row(x.cols, x.row(static_cast<int>(i)), to.values + i * x.cols, to.scales + i * to.blocks,
                       to.sums + i * to.blocks, to.first_sums + i * to.blocks);
    });
    return quantised(x);
}

QuantRows RowScratch::quantised(View x) {
    const QuantMemory at(memory_.data(), x);
    return {at.values, at.scales, at.sums, at.first_sums, x.cols};
}

void RowScratch::round_to_bf16(View x) {
    const Kernels& k = kernels();
    auto* const values = reinterpret_cast<std::uint16_t*>(memory_.data());
    const std::ptrdiff_t stride = pair_stride(x.cols);
    parallel_for(x.rows, std::max(1, elements_per_thread / x.cols), [&](std::ptrdiff_t i) {
        std::uint16_t* const row = values + i * stride;
        k.round_to_bf16(x.cols, x.row(static_cast<int>(i)), row);
        if (x.cols % 2 != 0) row[x.cols] = 0;
    });
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

bool converts_rows(const Linear& w, Bf16Rows rows) {
    return w.weight.packed() && (quantised(w.weight.type()) || rounds(w.weight, rows));
}
void convert_rows(View x, const Linear& w, RowScratch& scratch, Bf16Rows rows) {
    if (!converts_rows(w, rows)) return;
    quantised(w.weight.type()) ? static_cast<void>(scratch.quantise(x)) : scratch.round_to_bf16(x);
}

void linear(View x, const Linear& w, RowScratch& scratch, View y, Bf16Rows rows, bool converted, const Then& then) {
    const Matrix& weight = w.weight;
    if (!weight.packed()) {
        row_product(x, weight.view(), scratch, y);
        if (w.bias.data != nullptr)
            parallel_for(y.rows, std::max(1, 16384 / y.cols),
                         [&](std::ptrdiff_t i) { add_bias(w.bias, rows_of(y, static_cast<int>(i), 1)); });
        if (then) parallel_for(1, 1, [&](std::ptrdiff_t) { then(); });
        return;
    }
    if (!converted) convert_rows(x, w, scratch, rows);
    const Outputs outputs(x, w, scratch, y, rows);
    for (const Matrix::Band& band : weight.bands())
        for_outputs(
            band.rows, outputs_at_once(band.rows), std::int64_t{x.rows} * x.cols * band.rows,
            [&](int first, int count) { outputs(band, first, count); },
            &band == &weight.bands().back() ? then : Then());
}

int outputs_at_once(int outputs) {
    const int two = 2 * panel_outputs;
    return outputs < two * thread_count() ? panel_outputs : two;
}

bool has_units(const Linear& w) {
    constexpr std::uint64_t most_bytes = 768 << 10;
    const auto bands = w.weight.bands();
    return !bands.empty() && w.weight.bytes() <= most_bytes &&
           std::all_of(bands.begin(), bands.end(), [](const auto& band) { return band.first % panel_outputs == 0; });
}

void linear_by_units(View x, const Linear& w, RowScratch& scratch, View y, Bf16Rows rows, bool converted,
                     const Units& units, int slots, const Then& then) {
    if (!converted) convert_rows(x, w, scratch, rows);
    const Outputs outputs(x, w, scratch, y, rows);
    parallel_for_slots(
        units.count(), slots,
        [&](std::ptrdiff_t i, int slot) {
            const int unit = static_cast<int>(i);
            for (const Range& range : units.outputs(unit)) outputs(range);
            units.finish(unit, slot);
        },
        Cost::equal, then);
}

void linear_backward(View dy, View x, const Linear& w, RowScratch& scratch, View dx, bool accumulate,
                     const LinearGradient& d) {
    scratch.product(dy, Transpose::no, w.weight.view(), Transpose::no, dx, accumulate ? 1.0f : 0.0f);
    scratch.product(dy, Transpose::yes, x, Transpose::no, d.weight, 1.0f);
    if (d.bias.data) sum_rows(dy.rows, d.bias, [&](int i, float* sum) { kernels().add(dy.cols, dy.row(i), sum); });
}

} // namespace ordo
