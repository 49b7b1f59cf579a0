// SPDX-License-Identifier: MIT
#include "core/error.h"
#include "core/parallel.h"
#include "encoding/base/position_rows.h"
#include "encoding/base/registered.h"
#include "kernels/kernels.h"

#include <algorithm>
#include <cmath>

namespace ordo {

const EncodingInfo sinusoidal_encoding = {
    .name = "sinusoidal",
    .summary = "adds sines and cosines of the position, from fast waves to slow ones",
    .paper = "Vaswani et al. 2017, arXiv 1706.03762",
    .formula = "x_p -> scale x_p + PE(p + offset)\n"
               "PE(p, 2k) = sin(p / base^(2k/d)),  PE(p, 2k+1) = cos(p / base^(2k/d))\n"
               "by index: PE(p, i) = sin(p / base^(i/d)), i even;  cos(p / base^((i-1)/d)), i odd\n"
               "law=tensor2tensor: k/max(n-1, 1) for 2k/d, k < n = floor(d/2); an odd d ends in a zero\n"
               "columns=K: d = K in PE, which replaces the last K columns of scale x_p",
    .make = sinusoidal_file::make,
};

namespace sinusoidal_file {

// Sections 3.4 and 3.5; tensor2tensor, common_attention.py. With law=paper an odd d has one sine more than cosines.
// With layout=halves all sines come before all cosines, as in tensor2tensor. scale is sqrt(d) by default: without it
// the waves outweigh embeddings of size 1/sqrt(d). With columns=K the next layers see d - K columns of the token and K
// of the position.
class Sinusoidal final : public RegisteredEncoding {
public:
    using RegisteredEncoding::RegisteredEncoding;
    void parameters(Params& p) override {
        p.number("scale", scale_, 0, 1000000, "what the embedding is multiplied by before", "sqrt(d_model)");
        p.number("base", base_, 0.0001, 1e12, "the slowest wave is about this many times slower than the fastest");
        p.choice("layout", halves_, {"interleaved", "halves"},
                 "sine and cosine by turns, or halves: sines, then cosines");
        p.choice("law", tensor2tensor_, {"paper", "tensor2tensor"}, "exponents 2k/d; tensor2tensor: k/(floor(d/2)-1)");
        p.integer("offset", offset_, 0, 1 << 30, "added to positions");
        p.unless(replaced_ == 0)
            .integer("columns", replaced_, 0, dims().embedding_cols(),
                     "the last columns, which the waves replace; 0: add them to all");
    }
    void ready() override {
        if (replaced_ != 0) d_ = replaced_;
        for (int k = 0; k < pairs(); ++k) denominators_.push_back(std::pow(base_, exponent(k)));
    }
    int shift_invariant_below() const override { return 0; }

    void prepare(int n_positions) override {
        waves_.prepare(n_positions, d_, 16, [&](int p, float* row) {
            for (int j = 0; j < d_; ++j) row[j] = static_cast<float>(value(p, j));
        });
    }
    void embed(View x, const TokenRows& rows) const override {
        const auto scale = static_cast<float>(scale_);
        parallel_for(x.rows, std::max(1, (1 << 13) / x.cols), [&](std::ptrdiff_t i) {
            const int p = rows.positions[i];
            float* row = x.row(static_cast<int>(i));
            if (replaced_ != 0) return concatenate(row, p);
            if (const float* wave = waves_.row(p))
                for (int j = 0; j < d_; ++j) row[j] = row[j] * scale + wave[j];
            else
                for (int j = 0; j < d_; ++j) row[j] = row[j] * scale + static_cast<float>(value(p, j));
        });
    }
    void embed_backward(View dx, View, const TokenRows&, const Gradients&) const override {
        for (int i = 0; i < dx.rows; ++i) {
            kernels().scale(dx.cols, static_cast<float>(scale_), dx.row(i));
            std::fill_n(dx.row(i) + dx.cols - replaced_, replaced_, 0.0f);
        }
    }
    Operations operations(Moment moment, const Work& work) const override {
        const double scaled = scale_ == 1 ? 0 : dims().embedding_cols();
        return {.others = moment == moment_embed ? (scaled + d_) * work.tokens : 0};
    }

    // The added matrix, then the tensors from which it is usually computed.
    std::vector<NamedTable> tables() const override {
        const auto angle = [this](int p, int k) { return this->angle(p, k); };
        const auto div_term = [this](int k, auto out) { out[1] = std::exp(-exponent(k) * std::log(base_)); };
        const auto denominator = [this](int k, auto out) { out[1] = denominators_[k]; };
        const auto stack = [=](int p, int k, auto out) {
            out[0] = std::sin(angle(p, k)), out[1] = std::cos(angle(p, k));
        };
        return {columns("table", "dim", d_, [this](int p, int j) { return value(p, j); }),
                by_pair("div_term", {"pair", "div_term"}, pairs(), div_term),
                by_pair("denominator", {"pair", "denominator"}, pairs(), denominator),
                by_position("position", {"position"}, [this](int, auto out) { out[0] += offset_; }),
                columns("angle", "pair", pairs(), angle),
                columns("sin", "pair", pairs(), [=](int p, int k) { return std::sin(angle(p, k)); }),
                columns("cos", "pair", d_ / 2, [=](int p, int k) { return std::cos(angle(p, k)); }),
                {"stack", [=, this](const TableRequest& request) {
                     if (d_ % 2 != 0)
                         fail(ErrorCode::usage, "sinusoidal: table: stack: expected an even d_model, found ", d_);
                     return by_position_and_pair("stack", {"sin", "cos"}, pairs(), stack).rows(request);
                 }}};
    }

private:
    void concatenate(float* x, int position) const {
        kernels().scale(dims().embedding_cols(), static_cast<float>(scale_), x);
        float* const last = x + dims().embedding_cols() - d_;
        const float* const wave = waves_.row(position);
        for (int j = 0; j < d_; ++j) last[j] = wave ? wave[j] : static_cast<float>(value(position, j));
    }
    int pairs() const { return tensor2tensor_ ? d_ / 2 : (d_ + 1) / 2; }
    double exponent(int k) const {
        return tensor2tensor_ ? static_cast<double>(k) / std::max(pairs() - 1, 1) : 2.0 * k / d_;
    }
    double angle(int position, int k) const { return (static_cast<double>(position) + offset_) / denominators_[k]; }
    double value(int position, int column) const {
        const int sines = pairs();
        if (column >= 2 * sines) return 0; // tensor2tensor's padding
        const bool cosine = halves_ ? column >= sines : column % 2 != 0;
        const double t = angle(position, !halves_ ? column / 2 : cosine ? column - sines : column);
        return cosine ? std::cos(t) : std::sin(t);
    }
    // A row for each position, and a column for each dimension or pair.
    NamedTable columns(const char* name, const char* word, int count,
                       const std::function<double(int position, int k)>& number) const {
        return {name, [=, this](const TableRequest& request) {
                    if (count == 0)
                        fail(ErrorCode::usage, "sinusoidal: table: ", name, ": a width of ", d_, " has none");
                    return make_values(request, word, count, number);
                }};
    }

    int replaced_ = 0, offset_ = 0;
    int d_ = dims().embedding_cols(); // columns of PE
    double scale_ = std::sqrt(d_), base_ = 10000;
    bool halves_ = false, tensor2tensor_ = false;
    std::vector<double> denominators_; // base^e_k, one for each pair
    PositionRows waves_;               // [.., d_]
};

std::unique_ptr<RegisteredEncoding> make(const Dims& dims) {
    return make_registered<Sinusoidal>(dims);
}

} // namespace sinusoidal_file
} // namespace ordo
