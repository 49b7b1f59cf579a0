// SPDX-License-Identifier: MIT
#include "core/parallel.h"
#include "encoding/base/registered.h"
#include "encoding/base/rotation.h"

#include <algorithm>
#include <cmath>

namespace ordo {

const EncodingInfo rotate_stretch_encoding = {
    .name = "rotate-stretch",
    .summary = "rotates the embedding by its position and stretches it after each full turn",
    .paper = "Ben Kurzion, Investigating Transformer Positional Encodings, github.com/benkurzion/Transformer",
    .formula = "x_p -> s(p) |x_p| R(2 pi p / period) x_p\n"
               "s(p) = step (floor(p / period) + 1); R turns every pair of neighbours by the same angle",
    .make = rotate_stretch_file::make,
};

namespace rotate_stretch_file {

constexpr double two_pi = 6.283185307179586476925;

double dot(const float* a, const float* b, int n) {
    double sum = 0;
    for (int j = 0; j < n; ++j) sum += static_cast<double>(a[j]) * b[j];
    return sum;
}

// x [n] -> scale * R x: rotates pairs of neighbouring columns by the angle of (cos, sin).
void turn(float* x, int n, float cos, float sin, float scale) {
    const float c = cos * scale, s = sin * scale;
#pragma omp simd
    for (int k = 0; k < n / 2; ++k) {
        const float a = x[2 * k], b = x[2 * k + 1];
        x[2 * k] = a * c - b * s;
        x[2 * k + 1] = a * s + b * c;
    }
    if (n % 2 != 0) x[n - 1] *= scale;
}

// The source has a period of 36 and of 6. With an odd d_model the last column is only stretched. A norm after it
// removes the stretch, so that p and p + period become the same. The length |x| makes the encoding quadratic in x:
//   dx = s(p) (|x| g + (x . g / |x|) x),  g = R^T dy
class RotateStretch final : public RegisteredEncoding {
public:
    using RegisteredEncoding::RegisteredEncoding;
    void parameters(Params& p) override {
        p.integer("period", period_, 1, 1 << 30, "positions of a full turn");
        p.number("step", step_, 0, 1000000, "what the stretch grows by with each full turn");
    }
    int shift_invariant_below() const override { return 0; }
    void embed(View x, const TokenRows& rows) const override {
        parallel_for(x.rows, grain(x), [&](std::ptrdiff_t i) {
            const int position = rows.positions[i];
            float* row = x.row(static_cast<int>(i));
            const double t = angle(position);
            const double norm = std::sqrt(dot(row, row, x.cols));
            turn(row, x.cols, static_cast<float>(std::cos(t)), static_cast<float>(std::sin(t)),
                 static_cast<float>(stretch(position) * norm));
        });
    }
    void embed_backward(View dx, View x, const TokenRows& rows, const Gradients&) const override {
        parallel_for(x.rows, grain(x), [&](std::ptrdiff_t i) {
            const int position = rows.positions[i];
            const float* row = x.row(static_cast<int>(i));
            float* g = dx.row(static_cast<int>(i));
            const double t = angle(position), s = stretch(position);
            const double norm = std::sqrt(dot(row, row, x.cols));
            turn(g, x.cols, static_cast<float>(std::cos(t)), static_cast<float>(-std::sin(t)), 1);
            // At x = 0 the gradient is 0.
            const float along = static_cast<float>(norm > 0 ? s * dot(row, g, x.cols) / norm : 0);
            const float scale = static_cast<float>(s * norm);
            for (int j = 0; j < x.cols; ++j) g[j] = scale * g[j] + along * row[j];
        });
    }

    // The length of a row, and its rotation.
    Operations operations(Moment moment, const Work& work) const override {
        return {.others = moment == moment_embed
                              ? (5.0 * dims().embedding_cols() + 3 * operations_of_function) * work.tokens
                              : 0};
    }

    // scale: for a row of length 1. matrix: R at position start.
    std::vector<NamedTable> tables() const override {
        const auto turns = [this](int position, auto out) {
            out[1] = angle(position);
            out[2] = stretch(position);
        };
        return {by_position("table", {"position", "angle", "scale"}, turns),
                {"matrix", [this](const TableRequest& request) {
                     std::vector<double> angles(static_cast<std::size_t>(dims().embedding_cols() / 2),
                                                angle(request.start));
                     return rotation_matrix(std::move(angles), Pairing::adjacent, dims().embedding_cols());
                 }}};
    }

private:
    // Whole rotations are removed, so that p and p + period give the same bits.
    double angle(int position) const { return two_pi * (position % period_) / period_; }
    double stretch(int position) const {
        const int turns = position / period_;
        return step_ * (turns + 1.0);
    }
    static std::ptrdiff_t grain(View x) { return std::max(1, (1 << 14) / x.cols); }

    int period_ = 36;
    double step_ = 0.1;
};

std::unique_ptr<RegisteredEncoding> make(const Dims& dims) {
    return make_registered<RotateStretch>(dims);
}

} // namespace rotate_stretch_file
} // namespace ordo
