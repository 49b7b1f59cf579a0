// SPDX-License-Identifier: MIT
#include "core/error.h"
#include "core/parallel.h"
#include "encoding/base/rotary.h"
#include "kernels/kernels.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace ordo {

const EncodingInfo pope_encoding = {
    .name = "pope",
    .summary = "makes columns lengths of vectors whose angles are positions, apart from content",
    .paper = "Gopalakrishnan et al. 2025, arXiv 2509.10534",
    .formula = "score(i, j) = scale * sum_c mu(q_c) mu(k_c) cos((p_i - p_j) w_c - shift_c),  mu = softplus\n"
               "w_c = theta^(-2c/d_head); the first half of a head's columns (half of the paper's width)",
    .make = pope_file::make,
};

namespace pope_file {

constexpr float least_shift = -2 * std::numbers::pi_v<float>;

// A vector takes two columns: column c becomes mu cos, column c + d_head / 2, which is not read, mu sin. The shift of
// a key/value head is used as clamp(shift, -2 pi, 0).
class Pope final : public Rotary {
public:
    explicit Pope(const Dims& dims) : Rotary(dims) { pairing_ = Pairing::halves; }
    void parameters(Params& p) override { theta_parameter(p); }
    void ready() override {
        if (dims().d_head % 2 != 0)
            fail(ErrorCode::usage, name(), ": expected heads of an even number of columns, found ", dims().d_head);
    }
    PairTurns turns(Role) const override {
        PairTurns turns;
        for (int c = 0; c < half(); ++c) turns.frequencies.push_back(std::pow(theta_, -1.0 * c / half()));
        return turns;
    }
    std::vector<TensorSpec> tensors() const override {
        return {per_layer("shift", {kv_heads(), half()}, InitialValues::constant(0))};
    }

    void prepare(int n_positions) override {
        Rotary::prepare(n_positions);
        turns_.resize(static_cast<std::size_t>(slots() * kv_heads() * 2 * half()));
        for (int slot = 0; slot < slots(); ++slot)
            for (int h = 0; h < kv_heads(); ++h)
                for (int c = 0; c < half(); ++c) {
                    const float angle = std::clamp(tensor(slot, 0).row(h)[c], least_shift, 0.0f);
                    turns_[index(slot, h) + c] = std::cos(angle);
                    turns_[index(slot, h) + half() + c] = std::sin(angle);
                }
    }

    // The vectors at position 0, which then rotate as in RoPE.
    void rotate(View x, const HeadRows& rows) const override {
        parallel_for(x.rows, 16, [&](std::ptrdiff_t i) {
            for (int h = 0; h < rows.n_heads; ++h) {
                float *a = x.row(static_cast<int>(i)) + h * dims().d_head, *b = a + half();
                kernels().softplus(half(), a, a);
                std::fill_n(b, half(), 0.0f);
                if (rows.role == Role::query) continue;
                const float* cos = turn(rows.layer, rows.first_head + h);
                kernels().rotate_halves(half(), cos, cos + half(), 1, a, b);
            }
        });
        Rotary::rotate(x, rows);
    }
    // Back at position 0, with the gradient (da, db) of a vector (mu cos t, mu sin t) there:
    //   d mu = da cos t + db sin t,  dt = mu (db cos t - da sin t),  dx = d mu sigmoid(x),  1 - sigmoid(x) = exp(-mu)
    void rotate_backward(View dx, View x, const HeadRows& rows, const Gradients& grads) const override {
        Rotary::rotate_backward(dx, x, rows, grads);
        for (int i = 0; i < x.rows; ++i)
            for (int h = 0; h < rows.n_heads; ++h) {
                float* d = dx.row(i) + h * dims().d_head;
                const float* a = x.row(i) + h * dims().d_head;
                const float* turn = rows.role == Role::key ? this->turn(rows.layer, rows.first_head + h) : nullptr;
                for (int c = 0; c < half(); ++c) {
                    const float b = a[half() + c], length = std::sqrt(a[c] * a[c] + b * b), da = d[c],
                                db = d[half() + c], cos = turn ? turn[c] : 1, sin = turn ? turn[half() + c] : 0;
                    if (turn && trains(tensor(slot(rows.layer), 0).row(rows.first_head + h)[c]))
                        grads.tensors[0].row(rows.first_head + h)[c] += length * (db * cos - da * sin);
                    d[c] = (da * cos + db * sin) * -std::expm1(-length);
                    d[half() + c] = 0;
                }
            }
    }

    Operations operations(Moment moment, const Work& work) const override {
        Operations sum = Rotary::operations(moment, work);
        if (moment == moment_rotate)
            sum.others += half() * ((2 * operations_of_function + 3) * (work.query_rows + work.key_rows));
        return sum;
    }
    std::vector<NamedTable> tables() const override {
        return {angle_table(), frequency_table(), rows_of_tensor("shift", 0)};
    }

private:
    int half() const { return dims().d_head / 2; }
    static bool trains(float shift) { return least_shift <= shift && shift <= 0; }
    std::size_t index(int slot, int head) const {
        return static_cast<std::size_t>(slot * kv_heads() + head) * 2 * static_cast<std::size_t>(half());
    }
    // The cosines of a key's shifts, then their sines.
    const float* turn(int layer, int head) const { return turns_.data() + index(slot(layer), head); }

    std::vector<float> turns_; // of each layer and key/value head
};

std::unique_ptr<RegisteredEncoding> make(const Dims& dims) {
    return make_registered<Pope>(dims);
}

} // namespace pope_file
} // namespace ordo
