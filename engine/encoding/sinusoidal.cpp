// SPDX-License-Identifier: MIT
// Sinusoidal positions: waves of the position, from fast to slow, added to the embedding x [n, d_model].
//   x_p -> scale x_p + PE(p + offset)
//   PE(p, pair k) = (sin(p / base^e_k), cos(p / base^e_k))
// law=paper: e_k = 2k/d, k = 0 .. ceil(d/2) - 1; an odd d has a sine more than it has cosines.
// law=tensor2tensor: e_k = k / max(n - 1, 1), k = 0 .. n - 1, n = floor(d/2), from 1 down to 1/base exactly; an
// odd d ends in a column of zeros.
// layout=interleaved: columns 2k and 2k + 1; layout=halves: all sines, then all cosines, as tensor2tensor has them.
// scale is sqrt(d) unless given: without it the waves swamp embeddings of size 1/sqrt(d).
// Vaswani et al. 2017, arXiv 1706.03762, sections 3.4 and 3.5; tensor2tensor, common_attention.py.
#include "core/error.h"
#include "core/parallel.h"
#include "core/tensor.h"
#include "encoding/base/registered.h"
#include "encoding/base/table.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace ordo {
namespace {

constexpr std::size_t max_table_floats = std::size_t{1} << 24; // 64 MiB; the rest is computed as needed
constexpr int chunk_columns = 64;                              // computed at a time without a table

struct Waves {
    double scale = 1, base = 10000;
    bool halves = false, tensor2tensor = false;
    int offset = 0, d = 0;

    int pairs() const { return tensor2tensor ? d / 2 : (d + 1) / 2; }
    double exponent(int k) const {
        return tensor2tensor ? static_cast<double>(k) / std::max(pairs() - 1, 1) : 2.0 * k / d;
    }
};

class Sinusoidal final : public RegisteredEncoding {
public:
    explicit Sinusoidal(const Dims& dims) : RegisteredEncoding(dims) {
        waves_.d = dims.d_model;
        waves_.scale = std::sqrt(dims.d_model);
    }

    void parameters(Params& p) override {
        p.number("scale", waves_.scale, 0, 1000000, "what the embedding is multiplied by before", "sqrt(d_model)");
        p.number("base", waves_.base, 0.0001, 1e12,
                 "the slowest wave is about this many times slower than the fastest");
        p.choice("layout", waves_.halves, {"interleaved", "halves"},
                 "sine and cosine by turns, or halves: sines, then cosines");
        p.choice("law", waves_.tensor2tensor, {"paper", "tensor2tensor"},
                 "exponents 2k/d; tensor2tensor: k/(floor(d/2)-1)");
        p.integer("offset", waves_.offset, 0, 1 << 30, "added to positions");
    }
    void ready() override {
        for (int k = 0; k < waves_.pairs(); ++k) denominators_.push_back(std::pow(waves_.base, waves_.exponent(k)));
    }
    unsigned moments() const override { return moment_embed; }
    bool shift_invariant() const override { return false; }

    void prepare(int n_positions) override {
        const auto d = static_cast<std::size_t>(waves_.d);
        const std::size_t rows = std::min(static_cast<std::size_t>(std::max(n_positions, 0)), max_table_floats / d);
        if (rows <= static_cast<std::size_t>(prepared_)) return;
        table_ = Buffer<float>(rows * d);
        prepared_ = static_cast<int>(rows);
        parallel_for(prepared_, 16, [&](std::ptrdiff_t p) {
            fill(static_cast<int>(p), 0, waves_.d, table_.data() + static_cast<std::size_t>(p) * d);
        });
    }

    void embed(View x, const TokenRows& rows) const override {
        const std::ptrdiff_t grain = std::max(1, (1 << 13) / x.cols);
        parallel_for(x.rows, grain, [&](std::ptrdiff_t i) {
            add(x.row(static_cast<int>(i)), rows.positions[static_cast<std::size_t>(i)]);
        });
    }
    void embed_backward(View dx, View, const TokenRows&, std::span<const View>) const override {
        const float scale = static_cast<float>(waves_.scale);
        for (int i = 0; i < dx.rows; ++i)
            for (int j = 0; j < dx.cols; ++j) dx.row(i)[j] *= scale;
    }

    Operations operations(Moment moment, const Work& work) const override {
        return {.others = moment == moment_embed ? (waves_.scale == 1 ? 1.0 : 2.0) * waves_.d * work.tokens : 0};
    }

    std::vector<std::string> table_parts() const override {
        return {"table", "div_term", "denominator", "position", "angle", "sin", "cos", "stack"};
    }
    TableRows table_rows(const TableRequest& request) const override;

private:
    double angle(int position, int k) const {
        return (static_cast<double>(position) + waves_.offset) / denominators_[static_cast<std::size_t>(k)];
    }
    double value(int position, int column) const {
        const int sines = waves_.pairs();
        if (column >= 2 * sines) return 0; // tensor2tensor's padding
        const bool cosine = waves_.halves ? column >= sines : column % 2 != 0;
        const int k = !waves_.halves ? column / 2 : cosine ? column - sines : column;
        const double t = angle(position, k);
        return cosine ? std::cos(t) : std::sin(t);
    }
    void fill(int position, int first, int count, float* out) const {
        for (int j = 0; j < count; ++j) out[j] = static_cast<float>(value(position, first + j));
    }
    void add(float* x, int position) const {
        const float scale = static_cast<float>(waves_.scale);
        std::array<float, chunk_columns> chunk;
        const bool ready = position < prepared_;
        const int step = ready ? waves_.d : chunk_columns;
        for (int first = 0; first < waves_.d; first += step) {
            const int count = std::min(step, waves_.d - first);
            const float* wave = chunk.data();
            if (ready)
                wave = table_.data() + static_cast<std::ptrdiff_t>(position) * waves_.d;
            else
                fill(position, first, count, chunk.data());
            for (int j = 0; j < count; ++j) x[first + j] = x[first + j] * scale + wave[j];
        }
    }
    TableRows part_of_pairs(const TableRequest& request, std::string_view part) const;

    Waves waves_;
    std::vector<double> denominators_; // base^e_k, one for each pair
    Buffer<float> table_;              // [prepared_, d_model]
    int prepared_ = 0;
};

// The matrix that is added, and the tensors that it is usually computed by, one after another.
TableRows Sinusoidal::table_rows(const TableRequest& request) const {
    const std::string part = checked_part(*this, request);
    const int start = request.start;
    if (part == "table")
        return make_matrix("dim", 0, waves_.d, request.length, [this, start](std::int64_t i, std::span<double> out) {
            for (int j = 0; j < waves_.d; ++j) out[static_cast<std::size_t>(j)] = value(start + static_cast<int>(i), j);
        });
    if (part == "div_term" || part == "denominator")
        return make_table({"pair", part}, waves_.pairs(),
                          [this, inverse = part == "div_term"](std::int64_t k, std::span<double> out) {
                              out[0] = static_cast<double>(k);
                              out[1] = inverse ? std::exp(-waves_.exponent(static_cast<int>(k)) * std::log(waves_.base))
                                               : denominators_[static_cast<std::size_t>(k)];
                          });
    if (part == "position")
        return make_table({"position"}, request.length, [this, start](std::int64_t i, std::span<double> out) {
            out[0] = static_cast<double>(start) + static_cast<double>(i) + waves_.offset;
        });
    return part_of_pairs(request, part);
}

TableRows Sinusoidal::part_of_pairs(const TableRequest& request, std::string_view part) const {
    const int start = request.start, pairs = waves_.pairs();
    if (part == "stack") {
        if (waves_.d % 2 != 0)
            fail(ErrorCode::usage, "sinusoidal: table: stack: expected an even d_model, found ", waves_.d);
        return make_table(
            {"sin", "cos"}, std::int64_t{request.length} * pairs, [=, this](std::int64_t row, std::span<double> out) {
                const double t = angle(start + static_cast<int>(row / pairs), static_cast<int>(row % pairs));
                out[0] = std::sin(t);
                out[1] = std::cos(t);
            });
    }
    const int count = part == "cos" ? waves_.d / 2 : pairs;
    if (count == 0) fail(ErrorCode::usage, "sinusoidal: table: ", part, ": a width of ", waves_.d, " has none");
    const auto shown = [kind = part.front()](double t) {
        return kind == 'a' ? t : kind == 's' ? std::sin(t) : std::cos(t);
    };
    return make_matrix("pair", 0, count, request.length, [=, this](std::int64_t i, std::span<double> out) {
        for (int k = 0; k < count; ++k) out[static_cast<std::size_t>(k)] = shown(angle(start + static_cast<int>(i), k));
    });
}

} // namespace

const EncodingInfo sinusoidal_encoding = {
    .name = "sinusoidal",
    .summary = "adds sines and cosines of the position, from fast waves to slow ones",
    .paper = "Vaswani et al. 2017, arXiv 1706.03762",
    .formula = "x_p -> scale x_p + PE(p + offset)\n"
               "PE(p, 2k) = sin(p / base^(2k/d)),  PE(p, 2k+1) = cos(p / base^(2k/d))\n"
               "by index: PE(p, i) = sin(p / base^(i/d)), i even;  cos(p / base^((i-1)/d)), i odd\n"
               "law=tensor2tensor: k/max(n-1, 1) for 2k/d, k < n = floor(d/2); an odd d ends in a zero",
    .make = make_registered<Sinusoidal>,
};

} // namespace ordo
