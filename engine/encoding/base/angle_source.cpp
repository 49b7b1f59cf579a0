// SPDX-License-Identifier: MIT
#include "encoding/base/angle_source.h"

#include "core/parallel.h"
#include "core/tensor.h"
#include "encoding/base/projection.h"
#include "kernels/kernels.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace ordo {
namespace {

constexpr int rows_at_once = 32, columns_at_once = 32, summed_at_once = 16;
constexpr int most_kernel = 64; // of arrays on the stack
constexpr int most_rank = 1024; // of an array on the stack

inline double part_of_turn(double turns) {
    constexpr double to_integer = 6755399441055744; // 1.5 * 2^52: after adding it no double has a fraction
    return turns - ((turns + to_integer) - to_integer);
}

// ---- selective ----------------------------------------------------------------------------------

// The state of a token: the fractions, then z = down x^ of this token and of the kernel - 2 tokens before it.
class Selective final : public AngleSource {
public:
    Selective(AngleSizes sizes, int rank, int kernel) : AngleSource(std::move(sizes)), rank_(rank), kernel_(kernel) {}
    std::vector<TensorSpec> tensors() const override {
        return {matrix("down", rank_, sizes_.width), matrix("up", count(), rank_),
                matrix("convolution", count(), kernel_)};
    }
    int state_floats() const override { return z_at() + history() * rank_; }

    // Transposes matrices, so that a vector holds columns and is not summed across.
    void prepare(int slot, std::span<const View> tensors) override {
        const auto transpose = [](View from, Tensor& to) {
            if (to.rows() == 0) to = Tensor(from.cols, row_distance(from.rows));
            for (int i = 0; i < from.rows; ++i)
                for (int j = 0; j < from.cols; ++j) to.view().row(j)[i] = from.row(i)[j];
        };
        if (slot >= std::ssize(prepared_)) prepared_.resize(static_cast<std::size_t>(slot) + 1);
        transpose(tensors[1], prepared_[slot].up);
        transpose(tensors[2], prepared_[slot].weights);
    }

    void observe(View x, int slot, std::span<const View> tensors, const float* before, View state) const override {
        const int blocks = (x.rows + rows_at_once - 1) / rows_at_once;
        const auto rows_from = [&](int first) { return std::min(rows_at_once, x.rows - first); };
        parallel_for(blocks, 1, [&](std::ptrdiff_t block) {
            const int first = static_cast<int>(block) * rows_at_once, rows = rows_from(first);
            reduce(rows_of(x, first, rows), tensors[0], rows_of(state, first, rows));
        });
        // A strip of columns of all rows, whose sums run over the tokens, or a block of rows.
        const int width = count() < columns_at_once * thread_count() ? summed_at_once : columns_at_once;
        const int strips = (count() + width - 1) / width;
        parallel_for_dynamic(strips + blocks, [&](std::ptrdiff_t i) {
            const int task = static_cast<int>(i), c = task * width;
            if (task >= strips)
                return remember((task - strips) * rows_at_once, rows_from((task - strips) * rows_at_once), before,
                                state);
            for (int first = 0; first < x.rows; first += rows_at_once)
                convolve(first, rows_from(first), c, std::min(width, count() - c), prepared_[slot], before, state);
        });
    }

    void observe_backward(View d_state, View x, std::span<const View> tensors, View state, View dx,
                          std::span<const View> grads) const override {
        const View down = tensors[0], up = tensors[1], weights = tensors[2], z = cols_of(state, z_at(), rank_);
        const int n = x.rows;
        Tensor df = add_turns_backward(d_state), u(n, count()), du(n, count());
        project(z, up, u.view());
        parallel_for(count(), 1, [&](std::ptrdiff_t c) {
            for (int m = 0; m < kernel_; ++m) {
                const int shift = kernel_ - 1 - m;
                double sum = 0;
                for (int t = shift; t < n; ++t) {
                    const float d = df.view().row(t)[c];
                    sum += static_cast<double>(d) * static_cast<double>(u.view().row(t - shift)[c]);
                    du.view().row(t - shift)[c] += weights.row(static_cast<int>(c))[m] * d;
                }
                grads[2].row(static_cast<int>(c))[m] += static_cast<float>(sum);
            }
        });
        Tensor dz(n, rank_), normed(n, x.cols), d_normed(n, x.cols);
        projection_backward(du.view(), 1, z, up, grads[1], dz.view());
        parallel_for(n, rows_at_once, [&](std::ptrdiff_t row) {
            const int t = static_cast<int>(row);
            normalise(x.row(t), 0, x.cols, normed.view().row(t));
        });
        projection_backward(dz.view(), 1, normed.view(), down, grads[0], d_normed.view());
        // d x = (d x^ - x^ (x^ . d x^)) / norm
        parallel_for(n, rows_at_once, [&](std::ptrdiff_t row) {
            const int t = static_cast<int>(row);
            const float *y = normed.view().row(t), *dy = d_normed.view().row(t);
            for (int at = 0; at < x.cols; at += part_width()) {
                const float along = kernels().dot(part_width(), y + at, dy + at), length = norm(x.row(t) + at);
                for (int j = at; j < at + part_width(); ++j) dx.row(t)[j] += (dy[j] - y[j] * along) / length;
            }
        });
    }
    Operations operations(double tokens) const override {
        return {2.0 * rank_ * (sizes_.width + count()) * tokens,
                (2.0 * kernel_ * count() + count() + 2.0 * sizes_.width) * tokens};
    }

private:
    int z_at() const { return 2 * count(); }
    int history() const { return std::max(1, kernel_ - 1); }
    int part_width() const { return sizes_.width / sizes_.parts; }
    // y = `count` columns of x^ from `first` on.
    void normalise(const float* x, int first, int count, float* y) const {
        for (int at = first; at < first + count;) {
            const int part = at / part_width() * part_width(), end = std::min(first + count, part + part_width());
            const float factor = 1 / norm(x + part);
            for (; at < end; ++at) y[at - first] = factor * x[at];
        }
    }
    float norm(const float* part) const { return std::sqrt(kernels().dot(part_width(), part, part) + 1e-6f); }

    // z of the token t, which may be before the first row; null before the sequence.
    const float* z_of(int t, const float* before, View state) const {
        if (t >= 0) return state.row(t) + z_at();
        return before ? before + z_at() + (-1 - t) * rank_ : nullptr;
    }
    // z = down x^ of at most rows_at_once rows, some columns of x^ at a time.
    void reduce(View x, View down, View state) const {
        constexpr int most = 256; // on the stack
        float normed[rows_at_once * most], products[rows_at_once * columns_at_once];
        for (int t = 0; t < x.rows; ++t) std::fill_n(state.row(t) + z_at(), rank_, 0.0f);
        for (int at = 0; at < sizes_.width; at += most) {
            const int count = std::min(most, sizes_.width - at);
            for (int t = 0; t < x.rows; ++t) normalise(x.row(t), at, count, normed + t * most);
            for (int r = 0; r < rank_; r += columns_at_once) {
                const int n = std::min(columns_at_once, rank_ - r);
                kernels().dots(x.rows, n, count, down.row(r) + at, down.stride, normed, most, products,
                               columns_at_once);
                for (int t = 0; t < x.rows; ++t)
                    kernels().add(n, products + t * columns_at_once, state.row(t) + z_at() + r);
            }
        }
    }
    struct Transposed {
        Tensor up, weights; // [rank, count], [kernel, count], with padded rows
    };
    // Copies z of earlier tokens to the states of some rows.
    void remember(int first, int rows, const float* before, View state) const {
        for (int t = first; t < first + rows; ++t)
            for (int age = 1; age < history(); ++age) {
                float* to = state.row(t) + z_at() + age * rank_;
                if (const float* z = z_of(t - age, before, state))
                    std::copy_n(z, rank_, to);
                else
                    std::fill_n(to, rank_, 0.0f);
            }
    }
    // The sums of conv(up z) of some rows in n columns from c on. u = up z is computed once for each token.
    void convolve(int first, int rows, int c, int n, const Transposed& matrices, const float* before,
                  View state) const {
        float u[rows_at_once + most_kernel - 1][columns_at_once];
        const int earliest = first - (kernel_ - 1), own = std::max(0, earliest);
        if (!before && own > earliest) std::fill_n(u[0], (own - earliest) * columns_at_once, 0.0f);
        const auto multiply = [&](int count, const float* z, std::ptrdiff_t stride, float* to) {
            kernels().product(count, n, rank_, 1, z, stride, 1, matrices.up.data() + c, matrices.up.cols(), 0, to,
                              columns_at_once);
        };
        if (before && earliest < own) multiply(own - earliest, z_of(earliest, before, state), -rank_, u[0]);
        multiply(first + rows - own, state.row(own) + z_at(), state.stride, u[own - earliest]);
        float f[rows_at_once][columns_at_once];
        std::fill_n(f[0], rows * columns_at_once, 0.0f);
        kernels().convolve(rows, n, kernel_, matrices.weights.data() + c, matrices.weights.cols(), u[0],
                           columns_at_once, f[0], columns_at_once);
        add_turns(c, n, first == 0 ? before : state.row(first - 1), rows_of(state, first, rows),
                  [&](int t, int i) { return static_cast<double>(f[t][i]); });
    }

    int rank_, kernel_;
    std::vector<Transposed> prepared_; // of each slot
};

// ---- carope -------------------------------------------------------------------------------------

class Carope final : public AngleSource {
public:
    using AngleSource::AngleSource;
    std::vector<TensorSpec> tensors() const override { return {matrix("frequency", sizes_.groups, sizes_.width)}; }

    void observe(View x, int, std::span<const View> tensors, const float* before, View state) const override {
        parallel_for(x.rows, rows_at_once, [&](std::ptrdiff_t row) {
            const int t = static_cast<int>(row);
            for (int g = 0; g < sizes_.groups; ++g) {
                const double f = frequency(product(tensors[0], g, x.row(t)));
                double power = 1;
                float* const high = state.row(t) + g * pairs();
                for (int k = 0; k < pairs(); ++k, power *= f) {
                    high[k] = static_cast<float>(power);
                    high[count() + k] = static_cast<float>(power - static_cast<double>(high[k]));
                }
            }
        });
        parallel_for((count() + summed_at_once - 1) / summed_at_once, std::max(1, 128 / x.rows), [&](std::ptrdiff_t i) {
            const int c = static_cast<int>(i) * summed_at_once;
            add_turns(c, std::min(summed_at_once, count() - c), before, state,
                      [&](int t, int column) { return number_at(state.row(t) + c + column); });
        });
    }
    // With f = 1 / (1 + softplus(a)):  df/da = -f^2 sigmoid(a),  d f^k / df = k f^(k-1).
    void observe_backward(View d_state, View x, std::span<const View> tensors, View, View dx,
                          std::span<const View> grads) const override {
        Tensor df = add_turns_backward(d_state), da(x.rows, sizes_.groups);
        parallel_for(x.rows, rows_at_once, [&](std::ptrdiff_t row) {
            const int t = static_cast<int>(row);
            for (int g = 0; g < sizes_.groups; ++g) {
                const double a = product(tensors[0], g, x.row(t)), f = frequency(a);
                double sum = 0, power = 1;
                for (int k = 1; k < pairs(); ++k, power *= f)
                    sum += k * power * static_cast<double>(df.view().row(t)[g * pairs() + k]);
                da.view().row(t)[g] = static_cast<float>(-sum * f * f / (1 + std::exp(-a)));
            }
        });
        projection_backward(da.view(), 1, x, tensors[0], grads[0], dx);
    }
    Operations operations(double tokens) const override {
        return {2.0 * sizes_.width * sizes_.groups * tokens,
                (sizes_.groups * (2 * operations_of_function + 2) + 2 * count()) * tokens};
    }

private:
    double product(View frequency, int group, const float* x) const {
        return static_cast<double>(kernels().dot(sizes_.width, frequency.row(group), x));
    }
    static double frequency(double a) { return 1 / (1 + std::max(a, 0.0) + std::log1p(std::exp(-std::fabs(a)))); }
};

// ---- repo ---------------------------------------------------------------------------------------

class Repo final : public AngleSource {
public:
    Repo(AngleSizes sizes, int rank) : AngleSource(std::move(sizes)), rank_(rank) {}
    std::vector<TensorSpec> tensors() const override {
        return {matrix("gate", rank_, sizes_.width), matrix("content", rank_, sizes_.width),
                matrix("out", sizes_.groups, rank_)};
    }
    int state_floats() const override { return count(); }

    void observe(View x, int, std::span<const View> tensors, const float*, View state) const override {
        parallel_for(x.rows, 1, [&](std::ptrdiff_t row) {
            const View own = rows_of(x, static_cast<int>(row), 1);
            float *const fractions = state.row(static_cast<int>(row)), gate[most_rank], content[most_rank];
            project(own, tensors[0], view(gate, 1, rank_));
            project(own, tensors[1], view(content, 1, rank_));
            kernels().silu(rank_, gate, gate);
            for (int r = 0; r < rank_; ++r) gate[r] *= content[r];
            for (int g = 0; g < sizes_.groups; ++g) {
                const double z = static_cast<double>(kernels().dot(rank_, tensors[2].row(g), gate));
                for (int i = g * pairs(); i < (g + 1) * pairs(); ++i)
                    fractions[i] = static_cast<float>(part_of_turn(turns_[i] * z));
            }
        });
    }
    void observe_backward(View d_state, View x, std::span<const View> tensors, View, View dx,
                          std::span<const View> grads) const override {
        Tensor gate(x.rows, rank_), content(x.rows, rank_), hidden(x.rows, rank_), d_hidden(x.rows, rank_);
        project(x, tensors[0], gate.view());
        project(x, tensors[1], content.view());
        const auto each = [&](const auto& use) {
            for (std::size_t i = 0; i < hidden.size(); ++i)
                use(gate.data()[i], content.data()[i], hidden.data()[i], d_hidden.data()[i]);
        };
        const auto sigmoid = [](float a) { return 1 / (1 + std::exp(-a)); };
        each([&](float a, float c, float& h, float&) { h = a * sigmoid(a) * c; });
        Tensor dz(x.rows, sizes_.groups);
        for (int t = 0; t < x.rows; ++t)
            for (int i = 0; i < count(); ++i)
                dz.view().row(t)[i / pairs()] += static_cast<float>(turns_[i]) * d_state.row(t)[i];
        projection_backward(dz.view(), 1, hidden.view(), tensors[2], grads[2], d_hidden.view());
        each([&](float& a, float& c, float&, float& dh) { // now the gradients of gate and content
            const float s = sigmoid(a), silu = a * s;
            a = dh * c * (s + silu * (1 - s));
            c = dh * silu;
        });
        projection_backward(gate.view(), 1, x, tensors[0], grads[0], dx);
        projection_backward(content.view(), 1, x, tensors[1], grads[1], dx);
    }
    Operations operations(double tokens) const override {
        return {2.0 * rank_ * (2 * sizes_.width + sizes_.groups) * tokens,
                (operations_of_function + 2) * rank_ * tokens};
    }

private:
    int rank_;
};

} // namespace

AngleSource::AngleSource(AngleSizes sizes) : sizes_(std::move(sizes)) {
    for (int i = 0; i < count(); ++i) turns_.push_back(sizes_.factors[i % pairs()] * 0.5 * std::numbers::inv_pi);
}

template <class Number>
void AngleSource::add_turns(int c, int n, const float* before, View state, const Number& number) const {
    const auto add = [&]<int columns>(int at) {
        const double* const turns = turns_.data() + c + at;
        double sums[columns] = {}; // in registers
        for (int i = 0; before && i < columns; ++i) sums[i] = number_at(before + c + at + i);
        for (int t = 0; t < state.rows; ++t) {
            float high[columns], low[columns];
            for (int i = 0; i < columns; ++i) {
                const double sum = part_of_turn(sums[i] + turns[i] * number(t, at + i));
                high[i] = static_cast<float>(sum);
                low[i] = static_cast<float>(sum - static_cast<double>(high[i]));
                sums[i] = static_cast<double>(high[i]) + static_cast<double>(low[i]);
            }
            std::copy_n(high, columns, state.row(t) + c + at);
            std::copy_n(low, columns, state.row(t) + count() + c + at);
        }
    };
    int at = 0;
    for (; at + summed_at_once <= n; at += summed_at_once) add.template operator()<summed_at_once>(at);
    for (; at < n; ++at) add.template operator()<1>(at);
}

Tensor AngleSource::add_turns_backward(View d_state) const {
    Tensor df(d_state.rows, count());
    parallel_for(count(), std::max(1, 1024 / std::max(1, d_state.rows)), [&](std::ptrdiff_t c) {
        double sum = 0;
        for (int t = d_state.rows - 1; t >= 0; --t) {
            sum += static_cast<double>(d_state.row(t)[c]);
            df.view().row(t)[c] = static_cast<float>(turns_[c] * sum);
        }
    });
    return df;
}

std::unique_ptr<AngleSource> selective_angles(AngleSizes sizes, int rank, int kernel) {
    return std::make_unique<Selective>(std::move(sizes), rank, kernel);
}
std::unique_ptr<AngleSource> carope_angles(AngleSizes sizes) {
    return std::make_unique<Carope>(std::move(sizes));
}
std::unique_ptr<AngleSource> repo_angles(AngleSizes sizes, int rank) {
    return std::make_unique<Repo>(std::move(sizes), rank);
}

} // namespace ordo
