// SPDX-License-Identifier: MIT
#include "encoding/trainable.h"

#include "core/error.h"
#include "core/tensor.h"

namespace ordo {
namespace {

// A trainable tensor's name; empty if there is none.
std::string trained_tensor(const Encoding& encoding) {
    for (const TensorSpec& spec : encoding.tensors())
        if (spec.trainable) return spec.name;
    return "";
}

[[noreturn]] void refuse(const Encoding& encoding, const std::string& tensor, const std::string& why) {
    fail(ErrorCode::usage, "'", printable(encoding.spec()), "' cannot be trained",
         tensor.empty() ? "" : " (tensor '" + printable(tensor) + "')", ": ", why);
}

void call_backward(const Encoding& encoding, Moment moment, const Dims& dims, int layer, std::span<const View> grads) {
    const int wide = 1 << 20; // where the width is not known
    const int d = dims.d_model > 0 ? dims.d_model : wide, e = dims.d_head > 0 ? dims.d_head : wide;
    const int s = encoding.state_floats();
    const View x{nullptr, 0, d, d}, head{nullptr, 0, e, e}, state{nullptr, 0, s, s}, scores{};
    const HeadRows rows{.layer = layer, .first_head = 0, .n_heads = 1, .role = Role::query, .positions = {}};
    const Tile tile{.layer = layer, .q = head, .k = head, .query_state = state, .key_state = state};
    const TileGradient gradient{head, head, state, state, grads};
    switch (moment) {
    case moment_embed:
        return encoding.embed_backward(x, x, {}, grads);
    case moment_observe:
        return encoding.observe_backward(state, x, layer, {}, state, x, grads);
    case moment_rotate:
        return encoding.rotate_backward(head, head, rows, grads);
    case moment_bias:
        return encoding.bias_backward(scores, tile, gradient);
    case moment_rescore:
        return encoding.rescore_backward(scores, scores, tile, gradient);
    case moment_mix:
        return encoding.mix_backward(head, scores, scores, tile, gradient);
    case moment_sink:
        return encoding.sink_backward(layer, 0, 0, grads);
    }
}

} // namespace

unsigned backward_moments(const Encoding& encoding) {
    const unsigned moments = encoding.moments();
    if (!trained_tensor(encoding).empty()) return moments;
    const unsigned without = encoding.reads() == 0 ? moment_bias | moment_sink : moment_sink;
    return moments & ~without;
}

void check_trainable(const Encoding& encoding, const Dims& dims, int layer) {
    std::vector<Tensor> zeros;
    std::vector<View> grads;
    for (const TensorSpec& spec : encoding.tensors()) {
        const auto rows = static_cast<int>(spec.shape.size() == 1 ? 1 : spec.shape.at(0));
        zeros.emplace_back(rows, static_cast<int>(spec.shape.back()));
    }
    for (Tensor& tensor : zeros) grads.push_back(tensor.view());
    const std::string tensor = trained_tensor(encoding);
    if (!tensor.empty() && encoding.moments() == 0) refuse(encoding, tensor, "it acts on no moment of a pass");
    const unsigned needed = backward_moments(encoding);
    for (const MomentInfo& info : moments_of_a_pass) {
        if (!(needed & info.moment)) continue;
        try {
            call_backward(encoding, info.moment, dims, layer, grads);
        } catch (const Error& error) {
            refuse(encoding, tensor, error.what());
        }
    }
}

} // namespace ordo
