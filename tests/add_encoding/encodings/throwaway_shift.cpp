// SPDX-License-Identifier: MIT
// A throw-away encoding that adds a part of the token before to each token's queries, keys and values.
#include "encoding/base/registered.h"

namespace ordo {

const EncodingInfo throwaway_shift_encoding = {.name = "throwaway-shift",
                                               .summary = "adds a part of the token before to queries, keys, values",
                                               .paper = "none",
                                               .formula = "q_t += w q_(t-1), k_t += w k_(t-1), v_t += w v_(t-1)",
                                               .make = throwaway_shift_file::make};

namespace throwaway_shift_file {

class ThrowawayShift final : public RegisteredEncoding {
public:
    using RegisteredEncoding::RegisteredEncoding;
    std::vector<TensorSpec> tensors() const override {
        return {per_layer("weight", {1}, InitialValues::constant(0.5f))};
    }

    bool shifts(Place place) const override { return place == Place::qkv; }
    int shift_rows() const override { return 1; }
    void shift(View x, const ShiftRows& rows) const override {
        const float w = tensor(slot(rows.layer), 0).data[0];
        for (int t = 0; t < x.rows; ++t)
            for (int j = 0; j < x.cols && rows.before + t > 0; ++j)
                x.row(t)[j] += w * rows.inputs.row(rows.before + t - 1)[j];
    }
    void shift_backward(View dx, const ShiftRows& rows, const Gradients& grads) const override {
        const float w = tensor(slot(rows.layer), 0).data[0];
        for (int t = 0; t + 1 < dx.rows; ++t)
            for (int j = 0; j < dx.cols; ++j) {
                grads.tensors[0].data[0] += dx.row(t + 1)[j] * rows.inputs.row(t)[j];
                dx.row(t)[j] += w * dx.row(t + 1)[j];
            }
    }
    bool can_move_keys() const override { return true; }
    Operations operations(Moment moment, const Work& work) const override {
        return {.others = moment == moment_shift ? 2 * dims().d_head * (work.query_rows + 2 * work.key_rows) : 0};
    }
};

std::unique_ptr<RegisteredEncoding> make(const Dims& dims) {
    return make_registered<ThrowawayShift>(dims);
}

} // namespace throwaway_shift_file
} // namespace ordo
