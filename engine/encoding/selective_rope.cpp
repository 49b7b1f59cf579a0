// SPDX-License-Identifier: MIT
#include "core/error.h"
#include "core/parallel.h"
#include "encoding/base/angle_source.h"
#include "kernels/kernels.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace ordo {

const EncodingInfo selective_rope_encoding = {
    .name = "selective-rope",
    .summary = "rotates queries and keys by angles that grow with the content of the tokens",
    .paper = "Movahedi et al. 2025, arXiv 2511.17388",
    .formula = "(a, b) -> (a cos t - b sin t, a sin t + b cos t) for pair k of a head's queries and keys\n"
               "selective: t = theta^(-2k/d_head) sum_{l<=i} conv(up down x^_l)_k;  carope: t = sum_{l<=i} f(x_l)^k\n"
               "repo: t = theta^(-2k/d_head) z(x_i), a small network;  x: the layer's normed input",
    .make = selective_rope_file::make,
};

namespace selective_rope_file {

constexpr int at_once = 128; // pairs
constexpr float whole_turn = 2 * std::numbers::pi_v<float>;

enum class Kind { selective, carope, repo };

// Pair k has columns k and k + d_head/2. x^: each of n_heads equal parts of x divided by sqrt(its squares + 1e-6), or
// the whole row if they are not equal. conv is causal, over `kernel` tokens and each column alone. Heads that share a
// key head share its angles. Position ids are not read. Veisi et al. 2025 (CARoPE), arXiv 2507.23083, from the paper;
// Li et al. 2025 (RePo), arXiv 2512.14391, from the authors' code.   dL/dt = dy_b y_a - dy_a y_b
class SelectiveRope final : public RegisteredEncoding {
public:
    using RegisteredEncoding::RegisteredEncoding;
    void parameters(Params& p) override {
        p.choice("kind", kind_, {"selective", "carope", "repo"}, "the formula of the angles");
        if (p.read() && kind_ == Kind::repo) rank_ = std::clamp(dims().d_model / 8, 1, 1024);
        if (kind_ != Kind::carope || p.listing())
            p.integer("rank", rank_, 1, 1024, "of selective and repo: width of the inner layer", "16; repo: d_model/8");
        if (kind_ == Kind::selective || p.listing())
            p.integer("kernel", kernel_, 1, 64, "of selective: tokens of the convolution");
        if (kind_ != Kind::carope || p.listing())
            p.number("theta", theta_, 0.0001, 1e12, "of selective and repo: base of the frequencies");
        if (dims().d_head % 2 != 0)
            fail(ErrorCode::usage, "selective-rope: expected heads of an even number of columns, found ",
                 dims().d_head);
        AngleSizes sizes{dims().d_model, dims().d_model % heads() == 0 ? heads() : 1, kv_heads(), {}};
        for (int k = 0; k < pairs(); ++k)
            sizes.factors.push_back(kind_ == Kind::carope ? 1 : std::pow(theta_, -2.0 * k / dims().d_head));
        source_ = kind_ == Kind::selective ? selective_angles(std::move(sizes), rank_, kernel_)
                  : kind_ == Kind::carope  ? carope_angles(std::move(sizes))
                                           : repo_angles(std::move(sizes), rank_);
    }
    std::vector<TensorSpec> tensors() const override { return source_->tensors(); }
    unsigned reads() const override { return kind_ == Kind::repo ? reads_query_state : reads_state; }
    void prepare(int) override {
        for (int slot = 0; slot < slots(); ++slot) source_->prepare(slot, tensors_of(slot));
    }
    int state_floats() const override { return source_->state_floats(); }
    void observe(View x, int layer, Positions, const float* before, View state) const override {
        source_->observe(x, slot(layer), tensors_of(slot(layer)), before, state);
    }
    bool observes_in_loops() const override { return true; }
    void observe_backward(View d_state, View x, int layer, Positions, View state, View dx,
                          const Gradients& grads) const override {
        source_->observe_backward(d_state, x, tensors_of(slot(layer)), state, dx, grads.tensors);
    }

    bool can_move_keys() const override { return true; } // an angle is a sum that stays with its token
    void rotate(View x, const HeadRows& rows) const override { turn(x, rows, 1); }
    void rotate_backward(View dx, View x, const HeadRows& rows, const Gradients& grads) const override {
        const int n = pairs();
        parallel_for(x.rows, 16, [&](std::ptrdiff_t row) {
            const int i = static_cast<int>(row);
            for (int h = 0; h < rows.n_heads; ++h) {
                const float *y = x.row(i) + 2 * h * n, *dy = dx.row(i) + 2 * h * n;
                float* const d_turns = grads.state.row(i) + state_at(rows, h);
                for (int k = 0; k < n; ++k) d_turns[k] += whole_turn * (dy[n + k] * y[k] - dy[k] * y[n + k]);
            }
        });
        turn(dx, rows, -1);
    }

    Operations operations(Moment moment, const Work& work) const override {
        if (moment == moment_observe) return source_->operations(work.tokens);
        const double pair = 6 + 2 * operations_of_function; // with a sine and a cosine
        return {.others = moment == moment_rotate ? pair * pairs() * (work.query_rows + work.key_rows) : 0};
    }
    // The factors of the pairs.
    std::vector<NamedTable> tables() const override {
        return {by_pair("table", {"pair", "factor"}, pairs(),
                        [this](int pair, auto out) { out[1] = source_->factor(pair); })};
    }

private:
    int pairs() const { return dims().d_head / 2; }
    int state_at(const HeadRows& rows, int h) const {
        const int head = rows.first_head + h;
        return pairs() * (rows.role == Role::query ? this->group(head) : head);
    }
    void turn(View x, const HeadRows& rows, float direction) const {
        const int n = pairs(), some = std::max(1, at_once / n), width = std::min(n, at_once); // heads, and their pairs
        parallel_for(x.rows, 16, [&](std::ptrdiff_t row) {
            const int i = static_cast<int>(row);
            float angles[at_once], cos[at_once], sin[at_once];
            for (int head = 0; head < rows.n_heads; head += some)
                for (int first = 0; first < n; first += width) {
                    const int heads = std::min(some, rows.n_heads - head), count = std::min(width, n - first);
                    for (int h = 0; h < heads; ++h) {
                        const float* const turns = rows.state.row(i) + state_at(rows, head + h) + first;
                        for (int k = 0; k < count; ++k) angles[h * width + k] = whole_turn * turns[k];
                    }
                    kernels().cos_sin((heads - 1) * width + count, angles, cos, sin);
                    for (int h = 0; h < heads; ++h) {
                        float* const a = x.row(i) + 2 * (head + h) * n + first;
                        kernels().rotate_halves(count, cos + h * width, sin + h * width, direction, a, a + n);
                    }
                }
        });
    }

    Kind kind_ = Kind::selective;
    int rank_ = 16, kernel_ = 4;
    double theta_ = 10000;
    std::unique_ptr<AngleSource> source_;
};

std::unique_ptr<RegisteredEncoding> make(const Dims& dims) {
    return make_registered<SelectiveRope>(dims);
}

} // namespace selective_rope_file
} // namespace ordo
