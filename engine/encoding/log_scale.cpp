// SPDX-License-Identifier: MIT
#include "encoding/base/registered.h"
#include "kernels/kernels.h"

#include <algorithm>
#include <cmath>

namespace ordo {

const EncodingInfo log_scale_encoding = {
    .name = "log-scale",
    .summary = "multiplies queries by a factor that grows with the logarithm of the number of keys",
    .paper = "Nakanishi 2025, arXiv 2501.19399",
    .formula = "ssmax: q *= s_h ln n, n = p + 1, s of each layer;  log-n: q *= max(1, ln n / ln length)\n"
               "llama4, ministral: q *= 1 + factor ln(1 + floor(n / length)), of p for ministral\n"
               "inkling: q *= 1 + factor ln(max(1, n / length))",
    .make = log_scale_file::make,
};

namespace log_scale_file {

enum class Kind { ssmax, log_n, llama4, ministral, inkling };

// A softmax over more keys is flatter. n is counted from position ids: gaps count as keys. All but ssmax are those of
// released models, from their code: Qwen 1, Llama 4, Ministral 3 and Inkling, which scales its bias too, so no bias
// may act beside it. Keys stay as they are, so the factor may act beside a rotation.
//   d s_h = ln n (dy . x) = (dy . y) / s_h for y = s_h ln n x
class LogScale final : public RegisteredEncoding {
public:
    using RegisteredEncoding::RegisteredEncoding;
    void parameters(Params& p) override {
        p.choice("kind", kind_, {"ssmax", "log-n", "llama4", "ministral", "inkling"}, "the formula of the factor");
        const int lengths[] = {length_, std::max(2, dims().context), 8192, 16384, 128000};
        if (p.read()) length_ = lengths[static_cast<int>(kind_)];
        if (kind_ != Kind::ssmax || p.listing())
            p.integer("length", length_, kind_ == Kind::log_n ? 2 : 1, 1 << 30,
                      "of all but ssmax: the number of keys from which the factor grows, or of each step",
                      "context, 8192, 16384 or 128000");
        if (kind_ > Kind::log_n || p.listing())
            p.number("factor", factor_, 0.0001, 1e6, "of llama4, ministral and inkling: growth of the factor");
    }
    std::vector<TensorSpec> tensors() const override {
        if (kind_ != Kind::ssmax) return {};
        const double start = 1 / std::log(std::max(2, dims().context));
        return {per_head("scale", InitialValues::constant(static_cast<float>(start)))};
    }
    int shift_invariant_below() const override {
        return kind_ == Kind::ssmax ? 0 : length_ - (kind_ == Kind::llama4 ? 1 : 0);
    }
    unsigned alone_at() const override { return kind_ == Kind::inkling ? moment_bias : 0U; }

    bool rotates(Role role) const override { return role == Role::query; }
    bool scales_queries() const override { return true; }
    void rotate(View x, const HeadRows& rows) const override {
        const int e = dims().d_head, slot = this->slot(rows.layer);
        for (int i = 0; i < x.rows; ++i) {
            const double growth = this->growth(rows.positions[i]);
            for (int h = 0; h < rows.n_heads; ++h)
                kernels().scale(e, static_cast<float>(growth * scale(slot, rows.first_head + h)), x.row(i) + h * e);
        }
    }
    // Of a scale of 0 nothing can be recovered from the output; its gradient is taken as 0.
    void rotate_backward(View dx, View x, const HeadRows& rows, const Gradients& grads) const override {
        const int e = dims().d_head, slot = this->slot(rows.layer);
        for (int h = 0; kind_ == Kind::ssmax && h < rows.n_heads; ++h) {
            const double s = scale(slot, rows.first_head + h);
            double sum = 0;
            for (int i = 0; i < x.rows; ++i)
                sum += static_cast<double>(kernels().dot(e, dx.row(i) + h * e, x.row(i) + h * e));
            if (s != 0) grads.tensors[0].row(0)[rows.first_head + h] += static_cast<float>(sum / s);
        }
        rotate(dx, rows);
    }

    Operations operations(Moment moment, const Work& work) const override {
        return {.others = moment == moment_rotate ? (dims().d_head + operations_of_function + 1) * work.query_rows : 0};
    }
    // The factor of one head's queries.
    std::vector<NamedTable> tables() const override {
        return {{"table", [this](const TableRequest& request) {
                     const int slot = requested_slot(request), head = request.head, start = request.start;
                     check_table_head(*this, heads(), request);
                     return make_table({"position", "factor"}, request.length, [=, this](std::int64_t row, auto out) {
                         out[0] = start + static_cast<double>(row);
                         out[1] = growth(out[0]) * scale(slot, head);
                     });
                 }}};
    }

private:
    double scale(int slot, int head) const { return kind_ == Kind::ssmax ? static_cast<double>(at(slot, 0, head)) : 1; }
    double growth(double p) const {
        const double n = p + 1, length = length_;
        if (kind_ == Kind::ssmax) return std::log(n);
        if (kind_ == Kind::log_n) return std::max(1.0, std::log(n) / std::log(length));
        if (kind_ == Kind::inkling) return 1 + factor_ * std::log(std::max(1.0, n / length));
        return 1 + factor_ * std::log1p(std::floor((kind_ == Kind::llama4 ? n : p) / length));
    }

    Kind kind_ = Kind::ssmax;
    int length_ = 8192;
    double factor_ = 0.1;
};

std::unique_ptr<RegisteredEncoding> make(const Dims& dims) {
    return make_registered<LogScale>(dims);
}

} // namespace log_scale_file
} // namespace ordo
