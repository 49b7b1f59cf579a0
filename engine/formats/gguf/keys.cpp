// SPDX-License-Identifier: MIT
#include "formats/gguf/keys.h"

#include "encoding/base/spec.h"

#include <algorithm>
#include <cmath>

namespace ordo {
namespace {

constexpr int most_positions = 1 << 30;

// Refuses keys that change the result, unless they have the neutral value or the family has read them.
void refuse_what_we_cannot(const Config& c, std::initializer_list<std::string_view> read) {
    for (const std::string_view key : {"residual_scale", "logit_scale", "embedding_scale", "expert_weights_scale"})
        if (std::find(read.begin(), read.end(), key) == read.end() && c.number(key, 1, -1e30, 1e30) != 0)
            c.only(key, 1.0);          // 0 means none
    c.only("expert_gating_func", 1.0); // softmax
}

bool has(const TensorStore& tensors, std::string_view name) {
    return tensors.find(name) != nullptr;
}

// Whether any layer has the tensor. If only some layers have it, assembling it fails later.
bool in_layers(const TensorStore& tensors, const std::string& name, int n_layers) {
    for (int i = 0; i < n_layers; ++i)
        if (has(tensors, "blk." + std::to_string(i) + "." + name)) return true;
    return false;
}

void read_flags(const TensorStore& tensors, Blueprint& b) {
    const auto any = [&](const char* name) { return in_layers(tensors, name, b.n_layers); };
    const bool fused = any("attn_qkv.bias");
    b.q_bias = fused || any("attn_q.bias");
    b.k_bias = fused || any("attn_k.bias");
    b.v_bias = fused || any("attn_v.bias");
    b.out_bias = any("attn_output.bias");
    b.ffn_bias = any("ffn_up.bias") || any("ffn_down.bias");
    if (b.norm == Norm::layer) b.norm_bias = any("attn_norm.bias") || has(tensors, "output_norm.bias");
    b.tied_head = !has(tensors, "output.weight");
    b.head_bias = has(tensors, "output.bias");
    if (!any("attn_q_norm.weight")) return;
    const FileTensor* norm = tensors.find("blk.0.attn_q_norm.weight");
    b.qk_norm = norm != nullptr && norm->cols() == b.d_head ? QkNorm::head : QkNorm::width;
}

int vocabulary_of(const TensorStore& tensors, const std::string& where) {
    constexpr std::int64_t most = 1 << 22;
    const FileTensor* embedding = tensors.find("token_embd.weight");
    if (embedding == nullptr || embedding->shape.size() != 2)
        fail(ErrorCode::model, where, ": tensor 'token_embd.weight': expected a matrix, found ",
             embedding == nullptr ? "none" : shape_text(embedding->shape),
             embedding == nullptr && tensors.tensors().empty() ? " (a file of a vocabulary alone?)" : "");
    return static_cast<int>(std::min(embedding->rows(), most + 1)); // which check() refuses
}

// ---- Rope ---------------------------------------------------------------------------------------

// The values of a small tensor of floats; empty if it is missing.
std::vector<double> factors(const TensorStore& tensors, std::string_view name, int count) {
    const FileTensor* found = tensors.find(name);
    if (found == nullptr) return {};
    if (found->type != WeightType::f32 || found->shape != std::vector<std::int64_t>{count})
        fail(ErrorCode::model, tensors.name_of(*found), ": expected F32 [", count, "], a factor for each pair, found ",
             printable(found->dtype), " ", shape_text(found->shape));
    std::vector<float> values(static_cast<std::size_t>(count));
    tensors.read(*found, 0, std::as_writable_bytes(std::span(values)));
    for (const float value : values)
        if (!(value >= 0.0001f && value <= 1e6f))
            fail(ErrorCode::model, tensors.name_of(*found), ": expected factors from 0.0001 to 1000000, found ", value);
    return {values.begin(), values.end()};
}

// longrope divides frequencies by any list: one list for all lengths, or two.
void write_factors(const std::vector<double>& brief, const std::vector<double>& extended, int original,
                   double attention, SpecWriter& spec) {
    spec("scaling", "longrope")("factor", 1)("original", original);
    spec("short", std::span<const double>(brief))("long", std::span<const double>(extended));
    spec("attention", attention);
}

// llama.cpp divides all frequencies by this factor, besides any other division, unless the type is none. A factor of 0
// is 1.
double factor_of(const Config& c, std::string_view law) {
    const std::string_view key = c.first_of({"rope.scaling.factor", "rope.scale_linear"});
    const double factor = law == "none" ? 0 : c.number(key, 0, 0, 1e6);
    if (factor != 0 && factor < 0.001) c.refuse(key, "0, or a number from 0.001 to 1000000");
    return factor == 0 ? 1 : factor;
}

// Frequencies divided by tensors of the file and by the factor.
void write_divided(std::vector<double> brief, std::vector<double> extended, int original, double factor,
                   double attention, SpecWriter& spec) {
    for (std::vector<double>* list : {&brief, &extended})
        for (double& each : *list) each *= factor;
    write_factors(brief, extended, original, attention, spec);
}

void write_scaling(const Config& c, int context, int width, const std::string& law, SpecWriter& spec) {
    const double factor = factor_of(c, law);
    if (law == "none" || law == "linear") {
        const double attention = c.number("rope.scaling.attn_factor", 1, 0.001, 1e6);
        const std::vector<double> ones(static_cast<std::size_t>(width / 2), 1);
        if (attention != 1)
            write_divided(ones, ones, context, factor, attention, spec);
        else if (factor != 1)
            spec("scaling", "linear")("factor", factor);
    } else if (law == "yarn") {
        const double gain = factor <= 1 ? 1 : 0.1 * std::log(factor) + 1;
        spec("scaling", "yarn")("factor", factor);
        spec("original", c.integer("rope.scaling.original_context_length", context, 1, most_positions));
        const double fast = c.number("rope.scaling.yarn_beta_fast", 32, 0.001, 1e6),
                     slow = c.number("rope.scaling.yarn_beta_slow", 1, 0.001, 1e6);
        if (slow > fast)
            c.refuse(c.first_of({"rope.scaling.yarn_beta_slow", "rope.scaling.yarn_beta_fast"}),
                     "yarn_beta_slow no more than yarn_beta_fast");
        spec("beta-fast", fast)("beta-slow", slow);
        const double mixed = c.number("rope.scaling.yarn_ext_factor", 1, -1e6, 1);
        // llama.cpp's factor is this key times yarn's own gain.
        spec("attention", (mixed == 0 ? 1 : gain) * c.number("rope.scaling.attn_factor", 1, 0.001, 1e6));
        if (mixed >= 0 && mixed < 1) spec("extrapolation", mixed); // below 0 llama.cpp uses 1
    } else {
        c.refuse("rope.scaling.type", law == "longrope" ? "longrope with the tensors rope_factors_short and _long"
                                                        : "none, linear, yarn or longrope");
    }
}

} // namespace

void read_gguf_sizes(const Config& c, const TensorStore& tensors, Blueprint& b,
                     std::initializer_list<std::string_view> read) {
    refuse_what_we_cannot(c, read);
    b.vocab_size = vocabulary_of(tensors, c.where());
    b.context = c.integer("context_length");
    b.n_layers = c.layers("block_count");
    b.d_model = c.integer("embedding_length");
    b.d_ff = c.integer("feed_forward_length");
    b.n_heads = c.integer("attention.head_count");
    b.n_kv_heads = c.integer("attention.head_count_kv", b.n_heads, 1, b.n_heads);
    if (b.n_heads % b.n_kv_heads != 0) c.refuse("attention.head_count_kv", "a divisor of attention.head_count");
    if (!c.has("attention.key_length") && b.d_model % b.n_heads != 0)
        c.refuse("attention.head_count", "a divisor of embedding_length, or attention.key_length beside it");
    b.d_head = c.integer("attention.key_length", b.d_model / b.n_heads, 1, 1024);
    if (c.integer("attention.value_length", b.d_head, 1, 1 << 30) != b.d_head)
        c.refuse("attention.value_length", "that of keys, " + std::to_string(b.d_head));
    const char* eps = b.norm == Norm::rms ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon";
    b.norm_eps = c.norm_eps(eps, static_cast<double>(b.norm_eps));
    b.window = c.integer("attention.sliding_window", 0, 0, most_positions);
    b.attention_softcap = static_cast<float>(c.number("attn_logit_softcapping", 0, 0, 1e6));
    b.final_softcap = static_cast<float>(c.number("final_logit_softcapping", 0, 0, 1e6));
    b.score_scale = static_cast<float>(c.number("attention.scale", 0, 0, 1e6));
    b.qkv_clip = static_cast<float>(c.number("attention.clamp_kqv", 0, 0, 1e6));
    b.experts = c.integer("expert_count", 0, 0, 1024);
    b.experts_used = c.integer("expert_used_count", 0, 0, 1024);
    if (b.experts != 0) c.only("expert_weights_norm", b.experts_renormalised);
    if (!c.flag("attention.causal", true)) b.mask = Mask::bidirectional;
    read_flags(tensors, b);
}

std::vector<bool> gguf_sliding_layers(const Config& c, int n_layers, int period) {
    constexpr std::string_view key = "attention.sliding_window_pattern";
    const JsonValue* const said = c.find(key);
    const JsonValue::Array* const list = said == nullptr ? nullptr : said->array();
    if (list == nullptr) period = c.integer(key, period, 1, 1024);
    const std::string works = "true or false for each of " + std::to_string(n_layers) + " layers, or a number";
    if (list != nullptr && list->size() != static_cast<std::size_t>(n_layers)) c.refuse(key, works);
    std::vector<bool> sliding;
    for (int i = 0; i < n_layers; ++i) {
        const bool* const own = list == nullptr ? nullptr : (*list)[i].boolean();
        if (list != nullptr && own == nullptr) c.refuse(key, works);
        sliding.push_back(own != nullptr ? *own : i % period < period - 1);
    }
    return sliding;
}

std::string gguf_rope_spec(const Config& c, const TensorStore& tensors, const Blueprint& b, std::string_view pairing) {
    const int width = c.integer("rope.dimension_count", b.d_head, 2, b.d_head);
    if (width % 2 != 0)
        c.refuse(c.has("rope.dimension_count") ? "rope.dimension_count" : "attention.key_length", "an even number");
    SpecWriter spec("rope");
    spec("theta", c.number("rope.freq_base", 10000, 1e-4, 1e12))("pairing", pairing);
    if (width != b.d_head) spec("width", width);
    const std::vector<double> all = factors(tensors, "rope_freqs.weight", width / 2),
                              brief = factors(tensors, "rope_factors_short.weight", width / 2),
                              extended = factors(tensors, "rope_factors_long.weight", width / 2);
    const int original = c.integer("rope.scaling.original_context_length", b.context, 1, most_positions);
    const double attention = c.number("rope.scaling.attn_factor", 1, 0.001, 1e6);
    const std::string law = c.text("rope.scaling.type", "linear"); // llama.cpp's default
    if (law == "yarn" && (!all.empty() || !extended.empty()))
        c.refuse("rope.scaling.type", "none, linear or longrope beside tensors of factors");
    if (brief.empty() != extended.empty())
        fail(ErrorCode::model, c.where(),
             ": tensors rope_factors_short and rope_factors_long: expected both, found one");
    if (!extended.empty())
        write_divided(brief, extended, original, factor_of(c, law), attention, spec);
    else if (!all.empty())
        write_divided(all, all, b.context, factor_of(c, law), attention, spec);
    else
        write_scaling(c, b.context, width, law, spec);
    return spec.text();
}

NameMap gguf_names(const Blueprint& b, const std::vector<NameRule>& own) {
    NameMap map{.rules = own,
                .prefix = {},
                .ignored = {"rope_freqs.weight", "rope_factors_short.weight", "rope_factors_long.weight",
                            ".attn_rot_embd.weight", ".cross_attn_rel_b.weight"}};
    const NameRule shared[] = {{"embedding", "token_embd"},
                               {"embedding_norm", "token_embd_norm"},
                               {"encoding.learned", "position_embd"},
                               {"encoding.segment", "token_types"},
                               {"layers.#.attention_norm", "blk.#.attn_norm"},
                               {"layers.#.attention.qkv", "blk.#.attn_qkv"},
                               {"layers.#.attention.q", "blk.#.attn_q"},
                               {"layers.#.attention.k", "blk.#.attn_k"},
                               {"layers.#.attention.v", "blk.#.attn_v"},
                               {"layers.#.attention.q_norm", "blk.#.attn_q_norm"},
                               {"layers.#.attention.k_norm", "blk.#.attn_k_norm"},
                               {"layers.#.attention.out", "blk.#.attn_output"},
                               {"layers.#.attention_out_norm", "blk.#.post_attention_norm"},
                               {"layers.#.feed_forward_norm", "blk.#.ffn_norm"},
                               {"layers.#.feed_forward.gate", "blk.#.ffn_gate"},
                               {"layers.#.feed_forward.out", "blk.#.ffn_down"},
                               {"layers.#.feed_forward_out_norm", "blk.#.post_ffw_norm"},
                               {"layers.#.feed_forward.router", "blk.#.ffn_gate_inp"},
                               {"layers.#.feed_forward.experts.@.gate", "blk.#.ffn_gate_exps", Layout::expert},
                               {"layers.#.feed_forward.experts.@.up", "blk.#.ffn_up_exps", Layout::expert},
                               {"layers.#.feed_forward.experts.@.out", "blk.#.ffn_down_exps", Layout::expert},
                               {"final_norm", "output_norm"},
                               {"head", "output"}};
    map.rules.insert(map.rules.end(), std::begin(shared), std::end(shared));
    // One name for two tensors: the half next to the gate, or the whole.
    const std::string_view in = b.gated ? "layers.#.feed_forward.up" : "layers.#.feed_forward.in";
    if (!b.encoder.empty()) // each of two stacks has its own names
        map.rules.insert(
            map.rules.end(),
            {{b.gated ? "encoder.layers.#.feed_forward.up" : "encoder.layers.#.feed_forward.in", "enc.blk.#.ffn_up"},
             {in, "dec.blk.#.ffn_up"}});
    map.rules.push_back({in, "blk.#.ffn_up"});
    return map;
}

} // namespace ordo
