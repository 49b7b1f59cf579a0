// SPDX-License-Identifier: MIT
// A throw-away encoding that rotates by the content: the first two columns of each head's queries, keys and values by
// the angle c_t = c_(t-1) + w . x_t, and those of its outputs by -c_t.
#include "encoding/base/registered.h"

#include <cmath>

namespace ordo {

const EncodingInfo throwaway_turn_encoding = {.name = "throwaway-turn",
                                              .summary = "rotates all rows of heads by what was said before",
                                              .paper = "none",
                                              .formula = "(a, b) -> (a cos c - b sin c, a sin c + b cos c)",
                                              .make = throwaway_turn_file::make};

namespace throwaway_turn_file {

class ThrowawayTurn final : public RegisteredEncoding {
public:
    using RegisteredEncoding::RegisteredEncoding;
    unsigned reads() const override { return reads_state; }
    std::vector<TensorSpec> tensors() const override { return {per_layer("weight", {dims().d_model})}; }

    int state_floats() const override { return 1; }
    void observe(View x, int layer, Positions, const float* before, View state) const override {
        float sum = before ? *before : 0;
        for (int t = 0; t < x.rows; ++t) {
            for (int j = 0; j < x.cols; ++j) sum += tensor(slot(layer), 0).row(0)[j] * x.row(t)[j];
            state.row(t)[0] = sum;
        }
    }
    void observe_backward(View d_state, View x, int layer, Positions, View, View dx,
                          const Gradients& grads) const override {
        float d = 0;
        for (int t = x.rows - 1; t >= 0; --t) {
            d += d_state.row(t)[0];
            for (int j = 0; j < x.cols; ++j) {
                dx.row(t)[j] += d * tensor(slot(layer), 0).row(0)[j];
                grads.tensors[0].row(0)[j] += d * x.row(t)[j];
            }
        }
    }

    bool rotates(Role) const override { return true; }
    void rotate(View x, const HeadRows& rows) const override { turn(x, rows, 1); }
    // The angle's gradient is that of (a, b), multiplied with (-b, a).
    void rotate_backward(View dx, View x, const HeadRows& rows, const Gradients& grads) const override {
        for (int t = 0; t < x.rows; ++t)
            for (int h = 0; h < rows.n_heads; ++h) {
                const float *y = x.row(t) + h * dims().d_head, *dy = dx.row(t) + h * dims().d_head;
                grads.state.row(t)[0] += sign(rows) * (dy[1] * y[0] - dy[0] * y[1]);
            }
        turn(dx, rows, -1);
    }
    Operations operations(Moment moment, const Work& work) const override {
        if (moment == moment_observe) return {2.0 * dims().d_model * work.tokens, work.tokens};
        if (moment != moment_rotate) return {};
        return {.others = (2 * operations_of_function + 6) * 2 * (work.query_rows + work.key_rows)};
    }

private:
    static float sign(const HeadRows& rows) { return rows.role == Role::output ? -1.0f : 1.0f; }
    void turn(View x, const HeadRows& rows, float direction) const {
        for (int t = 0; t < x.rows; ++t) {
            const float angle = direction * sign(rows) * rows.state.row(t)[0], c = std::cos(angle), s = std::sin(angle);
            for (int h = 0; h < rows.n_heads; ++h) {
                float* const row = x.row(t) + h * dims().d_head;
                const float a = row[0], b = row[1];
                row[0] = a * c - b * s;
                row[1] = a * s + b * c;
            }
        }
    }
};

std::unique_ptr<RegisteredEncoding> make(const Dims& dims) {
    return make_registered<ThrowawayTurn>(dims);
}

} // namespace throwaway_turn_file
} // namespace ordo
