// SPDX-License-Identifier: MIT
// A throw-away encoding that scales queries, also beside a rotation: q *= exp(a_h (p mod 3)), with a in each layer.
#include "encoding/base/registered.h"

#include <cmath>

namespace ordo {

const EncodingInfo throwaway_scale_encoding = {.name = "throwaway-scale",
                                               .summary = "multiplies queries by a factor of their position",
                                               .paper = "none",
                                               .formula = "q *= exp(a_h (p mod 3))",
                                               .make = throwaway_scale_file::make};

namespace throwaway_scale_file {

class ThrowawayScale final : public RegisteredEncoding {
public:
    using RegisteredEncoding::RegisteredEncoding;
    std::vector<TensorSpec> tensors() const override { return {per_head("growth", InitialValues::uniform(0.5f, 1))}; }
    int shift_invariant_below() const override { return 0; }

    bool rotates(Role role) const override { return role == Role::query; }
    bool scales_queries() const override { return true; }
    void rotate(View x, const HeadRows& rows) const override {
        for (int i = 0; i < x.rows; ++i)
            for (int h = 0; h < rows.n_heads; ++h) {
                const float factor = std::exp(at(slot(rows.layer), 0, rows.first_head + h) * part(rows, i));
                for (int j = 0; j < dims().d_head; ++j) x.row(i)[h * dims().d_head + j] *= factor;
            }
    }
    // With y = x exp(a s), d a = s y . dy.
    void rotate_backward(View dx, View x, const HeadRows& rows, const Gradients& grads) const override {
        for (int i = 0; i < x.rows; ++i)
            for (int j = 0; j < x.cols; ++j)
                grads.tensors[0].row(0)[rows.first_head + j / dims().d_head] +=
                    part(rows, i) * x.row(i)[j] * dx.row(i)[j];
        rotate(dx, rows);
    }
    Operations operations(Moment moment, const Work& work) const override {
        return {.others = moment == moment_rotate ? (dims().d_head + operations_of_function + 3) * work.query_rows : 0};
    }

private:
    static float part(const HeadRows& rows, int i) { return static_cast<float>(rows.positions[i] % 3); }
};

std::unique_ptr<RegisteredEncoding> make(const Dims& dims) {
    return make_registered<ThrowawayScale>(dims);
}

} // namespace throwaway_scale_file
} // namespace ordo
