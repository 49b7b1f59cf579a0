// SPDX-License-Identifier: MIT
#include "core/error.h"
#include "core/parallel.h"
#include "encoding/base/angle_source.h"
#include "encoding/base/float_pair.h"
#include "kernels/kernels.h"

#include <algorithm>
#include <cmath>
#include <numbers>

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

constexpr int at_once = 64;                     // pairs
constexpr double to_integer = 6755399441055744; // 1.5 * 2^52: after adding it no double has a fraction

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
        const int parts = dims().d_model % heads() == 0 ? heads() : 1;
        const AngleSizes sizes{dims().d_model, parts, kv_heads(), pairs()};
        source_ = kind_ == Kind::selective ? selective_angles(sizes, rank_, kernel_)
                  : kind_ == Kind::carope  ? carope_angles(sizes)
                                           : repo_angles(sizes, rank_);
    }
    void ready() override {
        for (int k = 0; k < pairs(); ++k)
            factors_.push_back(kind_ == Kind::carope ? 1 : std::pow(theta_, -2.0 * k / dims().d_head));
    }
    std::vector<TensorSpec> tensors() const override { return source_->tensors(); }
    unsigned reads() const override { return kind_ == Kind::repo ? reads_query_state : reads_state; }
    int state_floats() const override { return source_->state_floats(); }
    void observe(View x, int layer, Positions, const float* before, View state) const override {
        source_->observe(x, tensors_of(slot(layer)), before, state);
    }
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
                for (int k = 0; k < n; ++k)
                    grads.state.row(i)[state_at(rows, h, k)] +=
                        static_cast<float>(factors_[k]) * (dy[n + k] * y[k] - dy[k] * y[n + k]);
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
        return {by_pair("table", {"pair", "factor"}, pairs(), [this](int pair, auto out) { out[1] = factors_[pair]; })};
    }

private:
    int pairs() const { return dims().d_head / 2; }
    int state_at(const HeadRows& rows, int h, int pair) const {
        const int head = rows.first_head + h, group = rows.role == Role::query ? this->group(head) : head;
        return kind_ == Kind::repo ? group : 2 * (group * pairs() + pair);
    }
    // The angle of a pair, without whole turns, from the numbers of its head.
    float angle(const float* numbers, int pair) const {
        const bool one = kind_ == Kind::repo;
        const double t = factors_[pair] * (one ? static_cast<double>(*numbers) : pair_sum(numbers + 2 * pair)),
                     turns = (t * (0.5 * std::numbers::inv_pi) + to_integer) - to_integer;
        return static_cast<float>(t - turns * 2 * std::numbers::pi);
    }
    void turn(View x, const HeadRows& rows, float direction) const {
        const int n = pairs();
        parallel_for(x.rows, 16, [&](std::ptrdiff_t row) {
            const int i = static_cast<int>(row);
            for (int h = 0; h < rows.n_heads; ++h) {
                const float* const numbers = rows.state.row(i) + state_at(rows, h, 0);
                for (int first = 0; first < n; first += at_once) {
                    const int count = std::min(at_once, n - first);
                    float angles[at_once], cos[at_once], sin[at_once];
                    for (int k = 0; k < count; ++k) angles[k] = angle(numbers, first + k);
                    kernels().cos_sin(count, angles, cos, sin);
                    float* a = x.row(i) + 2 * h * n + first;
                    kernels().rotate_halves(count, cos, sin, direction, a, a + n);
                }
            }
        });
    }

    Kind kind_ = Kind::selective;
    int rank_ = 16, kernel_ = 4;
    double theta_ = 10000;
    std::unique_ptr<AngleSource> source_;
    std::vector<double> factors_; // of each pair
};

std::unique_ptr<RegisteredEncoding> make(const Dims& dims) {
    return make_registered<SelectiveRope>(dims);
}

} // namespace selective_rope_file
} // namespace ordo
