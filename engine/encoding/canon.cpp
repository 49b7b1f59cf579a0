// SPDX-License-Identifier: MIT
#include "core/parallel.h"
#include "encoding/base/registered.h"
#include "kernels/kernels.h"

#include <algorithm>
#include <cmath>

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
        const View weight = weight_of(rows);
        const auto mix = [&](int t, int first, int n, const auto& factor) {
            for (int back = 0; back < kernel_ && back <= rows.before + t; ++back) {
                const float* in = rows.inputs.row(rows.before + t - back) + first;
                float* const out = x.row(t) + first;
                for (int c = 0; c < n; ++c) out[c] += factor(back, c) * in[c];
            }
        };
        if (x.rows == 1) return mix(0, 0, x.cols, [&](int back, int c) { return weight.row(c)[kernel_ - 1 - back]; });
        parallel_for((x.cols + strip - 1) / strip, x.rows < 16 ? x.cols : 1, [&](std::ptrdiff_t i) {
            const int first = static_cast<int>(i) * strip, n = std::min(strip, x.cols - first);
            float w[most_kernel][strip]; // by the number of tokens back
            for (int back = 0; back < kernel_; ++back)
                for (int c = 0; c < n; ++c) w[back][c] = weight.row(first + c)[kernel_ - 1 - back];
            for (int t = 0; t < x.rows; ++t) mix(t, first, n, [&](int back, int c) { return w[back][c]; });
        });
    }
    // By columns: no column depends on another. A row's gradient is complete before an earlier row's is needed, so that
    // dx can be replaced in ascending order.
    void shift_backward(View dx, const ShiftRows& rows, const Gradients& grads) const override {
        if (smears()) return smear_backward(dx, rows, grads);
        const View weight = weight_of(rows), d_weight = grads.tensors[index_of(rows.place)];
        parallel_for((dx.cols + strip - 1) / strip, 1, [&](std::ptrdiff_t i) {
            const int first = static_cast<int>(i) * strip, last = std::min(first + strip, dx.cols);
            for (int back = 0; back < kernel_; ++back)
                for (int c = first; c < last; ++c) {
                    double sum = 0;
                    for (int t = back; t < dx.rows; ++t)
                        sum += static_cast<double>(dx.row(t)[c]) * static_cast<double>(rows.inputs.row(t - back)[c]);
                    d_weight.row(c)[kernel_ - 1 - back] += static_cast<float>(sum);
                }
            for (int t = 0; t < dx.rows; ++t)
                for (int c = first; c < last; ++c) {
                    float sum = dx.row(t)[c];
                    for (int back = 0; back < kernel_ && t + back < dx.rows; ++back)
                        sum += weight.row(c)[kernel_ - 1 - back] * dx.row(t + back)[c];
                    dx.row(t)[c] = sum;
                }
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
