// SPDX-License-Identifier: MIT
#include "model/blueprint.h"

#include "core/error.h"

#include <algorithm>

namespace ordo {
namespace {

constexpr int most_tokens = 1 << 22; // of a vocabulary or a context
constexpr int most_heads = 1024;     // and layers, and floats in a head
constexpr int most_d_model = 65536;
constexpr int most_d_ff = 1 << 20;
constexpr int most_dense = 16;
constexpr int most_experts = 1024; // of a layer
constexpr int most_experts_in_all = 1 << 16;

void in_range(std::string_view where, const char* field, int value, int least, int most) {
    if (value < least || value > most)
        fail(ErrorCode::model, where, ": blueprint field '", field, "': expected ", least, " to ", most, ", found ",
             value);
}

void positive(std::string_view where, const char* field, float value, float most) { // a NaN is not positive
    if (!(value > 0 && value <= most))
        fail(ErrorCode::model, where, ": blueprint field '", field, "': expected more than 0 and at most ", most,
             ", found ", value);
}
void not_negative(std::string_view where, const char* field, float value) {
    if (!(value >= 0 && value <= 1e6f))
        fail(ErrorCode::model, where, ": blueprint field '", field, "': expected 0 to 1000000, found ", value);
}

void check_plan(const LayerPlan& p, std::string_view where) {
    in_range(where, "window", p.window, 0, most_tokens);
    if (!p.attention_norm && p.norm_place != NormPlace::pre)
        fail(ErrorCode::model, where, ": blueprint field 'attention_norm': expected true unless norm_place is pre");
    positive(where, "norm_eps", p.norm_eps, 1);
    if (p.norm_bias && p.norm != Norm::layer)
        fail(ErrorCode::model, where, ": blueprint field 'norm_bias': expected false with norm rms, found true");
    not_negative(where, "score_scale", p.score_scale);
    not_negative(where, "attention_softcap", p.attention_softcap);
    not_negative(where, "qkv_clip", p.qkv_clip);
    in_range(where, "experts", p.experts, 0, most_experts);
    in_range(where, "experts_used", p.experts_used, p.experts == 0 ? 0 : 1, p.experts);
    in_range(where, "shared_expert", p.shared_expert, 0, p.experts == 0 ? 0 : most_d_ff);
    in_range(where, "ffn_width", p.ffn_width, 0, most_d_ff);
    if (!p.cross_attention) return;
    if (p.norm_place == NormPlace::parallel || p.norm_place == NormPlace::parallel_two)
        fail(ErrorCode::model, where,
             ": blueprint field 'cross_attention': expected norm_place pre, post, sandwich or after beside it, found "
             "parallel");
    if (p.k_bias != p.v_bias)
        fail(ErrorCode::model, where,
             ": blueprint field 'cross_attention': expected biases of both keys and values or of neither, found one");
}

// Checks the properties that an encoder must share with the layers that attend to it.
void check_encoder(const Blueprint& b, std::string_view where) {
    bool attended = false;
    for (int i = 0; i < std::min(b.n_layers, std::max(1, static_cast<int>(b.pattern.size()))); ++i)
        attended = attended || b.layer(i).cross_attention;
    const auto expect = [&](bool fine, const char* expected, const char* found) {
        if (!fine) fail(ErrorCode::model, where, ": blueprint field 'encoder': expected ", expected, ", found ", found);
    };
    if (b.encoder.empty()) return expect(!attended, "one beside cross_attention", "none");
    expect(b.encoder.size() == 1, "one", "several");
    expect(attended, "cross_attention in some layer", "none");
    expect(!b.bidirectional(), "layers with the mask causal beside it", "bidirectional ones");
    const Blueprint& e = b.encoder.front();
    const std::string place = std::string(where) + ": encoder";
    check(e, place);
    in_range(place, "d_model", e.d_model, b.d_model, b.d_model);
    in_range(place, "vocab_size", e.vocab_size, b.vocab_size, b.vocab_size);
    expect(e.encoder.empty(), "none of an encoder's own", "one");
    expect(b.embedding_width == 0 && e.embedding_width == 0, "no embedding_width beside it", "one");
}

} // namespace

bool Blueprint::bidirectional() const {
    for (int i = 0; i < std::max<int>(1, static_cast<int>(pattern.size())); ++i)
        if (layer(i).mask == Mask::bidirectional) return true;
    return false;
}

Blueprint Blueprint::like_this() const {
    Blueprint other = *this;
    other.encoder.clear();
    other.dense.clear();
    other.pattern.clear();
    other.cross_attention = false;
    return other;
}

Dims Blueprint::dims() const {
    Dims dims;
    dims.d_model = d_model;
    dims.n_heads = n_heads;
    dims.d_head = d_head;
    dims.n_layers = n_layers;
    dims.context = context;
    dims.n_kv_heads = n_kv_heads;
    dims.d_embedding = projected_embedding ? embedding_width : 0;
    dims.mask = bidirectional() ? Mask::bidirectional : Mask::causal;
    return dims;
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
    in_range(where, "embedding_width", b.embedding_width, 0, b.projected_embedding ? most_d_model : b.d_model);
    if (b.projected_embedding && b.embedding_width == 0)
        fail(ErrorCode::model, where,
             ": blueprint field 'projected_embedding': expected false without embedding_width, found true");
    in_range(where, "distinct_layers", b.distinct_layers, 0, b.n_layers);
    for (int i = 0; b.distinct_layers != 0 && i < b.n_layers; ++i)
        if (b.layer(i) != b.layer(i % b.distinct_layers))
            fail(ErrorCode::model, where,
                 ": blueprint field 'distinct_layers': expected layers of one plan to share weights, found another in "
                 "layer ",
                 i);
    positive(where, "embedding_scale", b.embedding_scale, 1e6f);
    not_negative(where, "final_softcap", b.final_softcap);
    positive(where, "head_scale", b.head_scale, 1e6f);
    if (!b.head && (!b.tied_head || b.head_bias || b.head_transform))
        fail(ErrorCode::model, where, ": blueprint field 'head': expected true beside tensors of a head, found false");
    if (b.pattern.size() > static_cast<std::size_t>(b.n_layers))
        fail(ErrorCode::model, where, ": blueprint field 'layers': expected at most n_layers = ", b.n_layers,
             " plans, found ", b.pattern.size());
    check_plan(b, where);
    for (std::size_t i = 0; i < b.pattern.size(); ++i)
        check_plan(b.pattern[i], std::string(where) + ": layer plan " + std::to_string(i));
    int experts = 0;
    for (int i = 0; i < b.n_layers; ++i) experts += b.layer(i).experts;
    if (experts > most_experts_in_all)
        fail(ErrorCode::model, where, ": blueprint field 'experts': expected at most ", most_experts_in_all,
             " in all layers, found ", experts);
    check_encoder(b, where);
    in_range(where, "dense", static_cast<int>(b.dense.size()), 0, most_dense);
    for (const DenseLayer& layer : b.dense) in_range(where, "dense: width", layer.width, 1, most_d_model);
}

} // namespace ordo
