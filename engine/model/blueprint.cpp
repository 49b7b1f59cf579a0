// SPDX-License-Identifier: MIT
#include "model/blueprint.h"

#include "core/error.h"

#include <cmath>

namespace ordo {
namespace {

constexpr int most_tokens = 1 << 22; // of a vocabulary or a context
constexpr int most_heads = 1024;     // and layers, and floats in a head
constexpr int most_d_model = 65536;
constexpr int most_d_ff = 1 << 20;

void in_range(std::string_view where, const char* field, int value, int least, int most) {
    if (value < least || value > most)
        fail(ErrorCode::model, where, ": blueprint field '", field, "': expected ", least, " to ", most, ", found ",
             value);
}

// Collects the tensors of a model under their names.
class TensorList {
public:
    explicit TensorList(const Blueprint& b) : blueprint_(b) {}

    void matrix(std::string name, std::int64_t rows, std::int64_t cols, float std) {
        specs.push_back({std::move(name), {rows, cols}, true, std});
    }
    void linear(const std::string& name, std::int64_t rows, std::int64_t cols, bool bias, float std) {
        matrix(name + ".weight", rows, cols, std);
        if (bias) specs.push_back({name + ".bias", {rows}, true, 0.0f});
    }
    void norm(const std::string& name) {
        specs.push_back({name + ".weight", {blueprint_.d_model}, true, 0.0f});
        if (blueprint_.norm == Norm::layer) specs.push_back({name + ".bias", {blueprint_.d_model}, true, 0.0f});
    }

    std::vector<TensorSpec> specs;

private:
    const Blueprint& blueprint_;
};

} // namespace

float Blueprint::scale() const {
    return score_scale != 0 ? score_scale : static_cast<float>(1.0 / std::sqrt(static_cast<double>(d_head)));
}

void check(const Blueprint& b, std::string_view where) {
    in_range(where, "vocab_size", b.vocab_size, 1, most_tokens);
    in_range(where, "context", b.context, 1, most_tokens);
    in_range(where, "n_layers", b.n_layers, 1, most_heads);
    in_range(where, "d_model", b.d_model, 1, most_d_model);
    in_range(where, "n_heads", b.n_heads, 1, most_heads);
    in_range(where, "n_kv_heads", b.n_kv_heads, 1, b.n_heads);
    if (b.n_heads % b.n_kv_heads != 0)
        fail(ErrorCode::model, where, ": blueprint field 'n_kv_heads': expected a divisor of n_heads = ", b.n_heads,
             ", found ", b.n_kv_heads);
    in_range(where, "d_head", b.d_head, 1, most_heads);
    in_range(where, "d_ff", b.d_ff, 1, most_d_ff);
    in_range(where, "window", b.window, 0, most_tokens);
    if (b.window != 0 && b.mask == Mask::bidirectional)
        fail(ErrorCode::model, where, ": blueprint field 'window': expected 0 in a bidirectional model, found ",
             b.window);
    if (b.parallel_residual && b.norm_place == NormPlace::post)
        fail(ErrorCode::model, where,
             ": blueprint field 'parallel_residual': expected false with norm_place post, found true");
    if (!(b.norm_eps > 0 && b.norm_eps <= 1)) // a NaN fails too
        fail(ErrorCode::model, where, ": blueprint field 'norm_eps': expected more than 0 and at most 1, found ",
             b.norm_eps);
    if (!(b.score_scale >= 0 && b.score_scale <= 1e6f))
        fail(ErrorCode::model, where, ": blueprint field 'score_scale': expected 0 to 1000000, found ", b.score_scale);
    if (!(b.embedding_scale > 0 && b.embedding_scale <= 1e6f))
        fail(ErrorCode::model, where,
             ": blueprint field 'embedding_scale': expected more than 0 and at most 1000000, found ",
             b.embedding_scale);
    if (!(b.attention_softcap >= 0 && b.attention_softcap <= 1e6f))
        fail(ErrorCode::model, where, ": blueprint field 'attention_softcap': expected 0 to 1000000, found ",
             b.attention_softcap);
    if (!(b.final_softcap >= 0 && b.final_softcap <= 1e6f))
        fail(ErrorCode::model, where, ": blueprint field 'final_softcap': expected 0 to 1000000, found ",
             b.final_softcap);
}

// Matrices start from N(0, 0.02); those that write into the residual stream are shrunk by the number
// of its branches, 2 n_layers (Radford et al. 2019, section 2.3).
std::vector<TensorSpec> tensor_list(const Blueprint& b) {
    constexpr float std = 0.02f;
    const auto branch_std = static_cast<float>(0.02 / std::sqrt(2.0 * b.n_layers));
    const std::int64_t d = b.d_model, e = b.d_head, q = b.n_heads * e, kv = b.n_kv_heads * e;
    TensorList list(b);
    list.matrix("embedding.weight", b.vocab_size, d, std);
    if (b.embedding_norm) list.norm("embedding_norm");
    for (int i = 0; i < b.n_layers; ++i) {
        const std::string layer = "layers." + std::to_string(i) + ".";
        list.norm(layer + "attention_norm");
        list.linear(layer + "attention.qkv", q + 2 * kv, d, b.attention_bias, std);
        list.linear(layer + "attention.out", d, q, b.attention_bias, branch_std);
        if (!b.parallel_residual) list.norm(layer + "feed_forward_norm");
        list.linear(layer + "feed_forward.in", b.gated ? 2 * std::int64_t{b.d_ff} : b.d_ff, d, b.ffn_bias, std);
        list.linear(layer + "feed_forward.out", d, b.d_ff, b.ffn_bias, branch_std);
    }
    if (b.final_norm) list.norm("final_norm");
    if (!b.tied_head) list.matrix("head.weight", b.vocab_size, d, std);
    return std::move(list.specs);
}

bool starts_at_one(std::string_view tensor_name) {
    return tensor_name.ends_with("norm.weight");
}

} // namespace ordo
