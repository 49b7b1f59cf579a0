// SPDX-License-Identifier: MIT
#include "core/parallel.h"
#include "encoding/base/registered.h"
#include "kernels/kernels.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace ordo {

const EncodingInfo canon_encoding = {
    .name = "canon",
    .summary = "mixes each token's row with the rows of the three tokens before it",
    .paper = "Allen-Zhu 2025, arXiv 2512.17351",
    .formula =
        "h_t -> h_t + sum over m < kernel of w_m h_(t-m), by columns, of the normalised input of attention (a) or of\n"
        "the feed-forward part (c), with weights of each layer\n"
        "smear: x_t -> x_t + scale sigmoid(gate . x_t) x_(t-1), of the embedding; the gate reads 12 columns",
    .make = canon_file::make,
};

namespace canon_file {

class Canon final : public RegisteredEncoding {
public:
    using RegisteredEncoding::RegisteredEncoding;
    void parameters(Params& p) override {
        p.choice("places", choice_, {"ac", "a", "c", "smear"},
                 "a: the input of attention, c: of the feed-forward part; smear: the embedding, gated, one token back");
        const std::vector<Place> chosen[] = {
            {Place::attention, Place::feed_forward}, {Place::attention}, {Place::feed_forward}, {Place::embedding}};
        places_ = chosen[choice_];
        p.unless(smears()).integer("kernel", kernel_, 2, most_kernel, "tokens that are mixed, with the own one");
    }
    std::vector<TensorSpec> tensors() const override {
        const int d = dims().d_model;
        if (smears())
            return {{.name = "scale", .shape = {1}, .initial = InitialValues::constant(0)},
                    {.name = "gate", .shape = {1, std::min(gate_columns, d)}}};
        std::vector<TensorSpec> all;
        for (const Place place : places_)
            all.push_back(per_layer(place == Place::attention ? "a" : "c", {d, kernel_}, linear(kernel_)));
        return all;
    }
    bool shifts(Place place) const override { return index_of(place) < places_.size(); }
    int shift_rows() const override { return smears() ? 1 : kernel_ - 1; }

    void shift(View x, const ShiftRows& rows) const override {
        if (smears()) return smear(x, rows);
        parallel_for((x.cols + strip - 1) / strip, x.rows < 16 ? x.cols : 1, [&](std::ptrdiff_t i) {
            const Strip s(weight_of(rows), static_cast<int>(i) * strip, false);
            int t = 0;
            for (; t < x.rows && rows.before + t < kernel_ - 1; ++t) // tokens with fewer before them
                s.convolve(1, rows.before + t + 1, kernel_ - 1 - rows.before - t, rows.inputs, 0, x, t);
            s.convolve(x.rows - t, kernel_, 0, rows.inputs, rows.before + t - kernel_ + 1, x, t);
        });
    }
    // By columns: no column depends on another. A row's gradient is complete before an earlier row's is needed, so that
    // dx can be replaced in ascending order.
    void shift_backward(View dx, const ShiftRows& rows, const Gradients& grads) const override {
        if (smears()) return smear_backward(dx, rows, grads);
        const View weight = weight_of(rows), d_weight = grads.tensors[index_of(rows.place)];
        parallel_for((dx.cols + strip - 1) / strip, 1, [&](std::ptrdiff_t i) {
            const Strip s(weight, static_cast<int>(i) * strip, true);
            for (int back = 0; back < kernel_; ++back) {
                double sum[strip] = {};
                for (int t = back; t < dx.rows; ++t) {
                    const float *d = dx.row(t) + s.first, *in = rows.inputs.row(t - back) + s.first;
                    for (int c = 0; c < s.n; ++c) sum[c] += static_cast<double>(d[c]) * static_cast<double>(in[c]);
                }
                for (int c = 0; c < s.n; ++c)
                    d_weight.row(s.first + c)[kernel_ - 1 - back] += static_cast<float>(sum[c]);
            }
            const int whole = std::max(0, dx.rows - kernel_ + 1);
            s.convolve(whole, kernel_, 0, dx, 0, dx, 0);
            for (int t = whole; t < dx.rows; ++t) s.convolve(1, dx.rows - t, 0, dx, t, dx, t);
        });
    }

    bool can_move_keys() const override { return true; } // no position is read
    Operations operations(Moment moment, const Work& work) const override {
        if (moment != moment_shift) return {};
        const double d = dims().d_model, places = static_cast<double>(places_.size());
        return {.others = work.tokens *
                          (smears() ? 2 * d + 2 * gate_columns + operations_of_function : places * 2 * kernel_ * d)};
    }
    std::vector<NamedTable> tables() const override {
        std::vector<NamedTable> all;
        const std::vector<TensorSpec> specs = tensors();
        for (std::size_t i = 0; i < specs.size(); ++i)
            all.push_back(rows_of_tensor(specs[i].name, i, smears() ? "dim" : "tap"));
        return all;
    }

private:
    static constexpr int gate_columns = 12, strip = 64, most_kernel = 8;
    // Some columns from `first` on, with their weights: of the oldest token first, or of the own one if reversed.
    struct Strip {
        Strip(View weight, int from, bool reversed) : first(from), n(std::min(strip, weight.rows - from)) {
            const auto transpose = [&](auto taps) {
                const float* row = weight.row(first); // the rows are contiguous
                for (int c = 0; c < n; ++c, row += taps)
                    for (int m = 0; m < taps; ++m) w[reversed ? taps - 1 - m : m][c] = row[m];
            };
            if (weight.cols == 4) // as is usual: a constant lets the compiler use vectors
                transpose(std::integral_constant<int, 4>());
            else
                transpose(weight.cols);
        }
        // y += the convolution of x, for y's rows from `to` on and x's from `from` on, with weights from w[tap] on.
        void convolve(int rows, int taps, int tap, View x, int from, View y, int to) const {
            if (rows > 0)
                kernels().convolve(rows, n, taps, w[tap], strip, x.row(from) + first, x.stride, y.row(to) + first,
                                   y.stride);
        }
        int first, n;
        float w[most_kernel][strip];
    };
    bool smears() const { return places_.front() == Place::embedding; }
    std::size_t index_of(Place place) const {
        return static_cast<std::size_t>(std::find(places_.begin(), places_.end(), place) - places_.begin());
    }
    View weight_of(const ShiftRows& rows) const { return tensor(slot(rows.layer), index_of(rows.place)); }
    float sigmoid_of(const float* row) const {
        const View gate = tensor(0, 1);
        return 1 / (1 + std::exp(-kernels().dot(gate.cols, gate.data, row)));
    }

    void smear(View x, const ShiftRows& rows) const {
        const float scale = tensor(0, 0).data[0];
        for (int t = 0; t < x.rows; ++t)
            if (const int own = rows.before + t; own > 0)
                kernels().axpy(x.cols, scale * sigmoid_of(rows.inputs.row(own)), rows.inputs.row(own - 1), x.row(t));
    }
    // y_t = x_t + l s_t x_(t-1), s_t = sigmoid(z_t). With g_t = dy_t . x_(t-1):
    //   dl = sum s_t g_t,  dz_t = l s_t (1 - s_t) g_t
    void smear_backward(View dx, const ShiftRows& rows, const Gradients& grads) const {
        const View gate = tensor(0, 1);
        const float scale = tensor(0, 0).data[0];
        for (int t = 1; t < dx.rows; ++t) {
            const float *x = rows.inputs.row(t), *earlier = rows.inputs.row(t - 1), s = sigmoid_of(x);
            const float g = kernels().dot(dx.cols, dx.row(t), earlier), dz = scale * s * (1 - s) * g;
            kernels().axpy(dx.cols, scale * s, dx.row(t), dx.row(t - 1)); // row t - 1 needs its own gradient no more
            grads.tensors[0].data[0] += s * g;
            kernels().axpy(gate.cols, dz, x, grads.tensors[1].data);
            kernels().axpy(gate.cols, dz, gate.data, dx.row(t));
        }
    }

    int choice_ = 0, kernel_ = 4;
    std::vector<Place> places_;
};

std::unique_ptr<RegisteredEncoding> make(const Dims& dims) {
    return make_registered<Canon>(dims);
}

} // namespace canon_file
} // namespace ordo
