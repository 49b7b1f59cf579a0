// SPDX-License-Identifier: MIT
#include "formats/gguf/target.h"

#include "core/error.h"
#include "encoding/base/rope_scaling.h"
#include "encoding/base/spec.h"

#include <algorithm>
#include <cmath>

namespace ordo {
namespace {

// The fixed properties of an architecture in llama.cpp.
struct Trunk {
    std::string_view name, encoding; // of each layer
    Norm norm;
    std::optional<bool> norm_bias = {}; // empty: either
    Activation activation;
    bool gated;
    std::optional<bool> biases = {}; // of all of attention and the feed-forward branch; empty: any
    bool embedding_norm = false;
    QkNorm qk_norm = QkNorm::none;
    bool fused = false;
    bool adjacent = false; // the pairing of rope
    double alibi_max = 0;  // if it is fixed; 0: a key gives it
    bool grouped = true;   // may have fewer key/value heads than query heads
    NormPlace place = NormPlace::pre;
    std::optional<bool> own_head = {}; // empty: either
    bool head_bias = false;
    bool clips = false;                    // queries, keys and values may be clipped
    std::optional<bool> experts = {false}; // empty: either
    bool shared = false; // also a shared expert for all tokens, and weights of experts that do not sum to one
};

// Refact is Llama's trunk with ALiBi. SmolLM3 has no positions in every fourth layer.
constexpr Trunk trunks[] = {
    {.name = "llama",
     .encoding = "rope",
     .norm = Norm::rms,
     .activation = Activation::silu,
     .gated = true,
     .adjacent = true,
     .experts = {}},
    {.name = "qwen3",
     .encoding = "rope",
     .norm = Norm::rms,
     .activation = Activation::silu,
     .gated = true,
     .biases = false,
     .qk_norm = QkNorm::head},
    {.name = "hunyuan-dense",
     .encoding = "rope",
     .norm = Norm::rms,
     .activation = Activation::silu,
     .gated = true,
     .biases = false,
     .qk_norm = QkNorm::rotated},
    {.name = "qwen3moe",
     .encoding = "rope",
     .norm = Norm::rms,
     .activation = Activation::silu,
     .gated = true,
     .biases = false,
     .qk_norm = QkNorm::head,
     .experts = true},
    {.name = "qwen2moe",
     .encoding = "rope",
     .norm = Norm::rms,
     .activation = Activation::silu,
     .gated = true,
     .experts = true,
     .shared = true},
    {.name = "refact",
     .encoding = "alibi",
     .norm = Norm::rms,
     .activation = Activation::silu,
     .gated = true,
     .biases = false,
     .alibi_max = 8},
    {.name = "gpt2",
     .encoding = "learned",
     .norm = Norm::layer,
     .norm_bias = true,
     .activation = Activation::gelu_tanh,
     .gated = false,
     .biases = true,
     .fused = true,
     .grouped = false},
    {.name = "bloom",
     .encoding = "alibi",
     .norm = Norm::layer,
     .norm_bias = true,
     .activation = Activation::gelu_tanh,
     .gated = false,
     .biases = true,
     .embedding_norm = true,
     .fused = true,
     .alibi_max = 8,
     .grouped = false},
    {.name = "mpt",
     .encoding = "alibi",
     .norm = Norm::layer,
     .activation = Activation::gelu,
     .gated = false,
     .fused = true,
     .clips = true},
    {.name = "starcoder2",
     .encoding = "rope",
     .norm = Norm::layer,
     .norm_bias = true,
     .activation = Activation::gelu_tanh,
     .gated = false,
     .biases = true},
    {.name = "gptneox",
     .encoding = "rope",
     .norm = Norm::layer,
     .norm_bias = true,
     .activation = Activation::gelu,
     .gated = false,
     .biases = true,
     .fused = true,
     .grouped = false,
     .place = NormPlace::parallel_two,
     .own_head = true},
    {.name = "phi2",
     .encoding = "rope",
     .norm = Norm::layer,
     .norm_bias = true,
     .activation = Activation::gelu_tanh,
     .gated = false,
     .biases = true,
     .fused = true,
     .place = NormPlace::parallel,
     .own_head = true,
     .head_bias = true},
    {.name = "falcon",
     .encoding = "rope",
     .norm = Norm::layer,
     .norm_bias = true,
     .activation = Activation::gelu,
     .gated = false,
     .biases = false,
     .fused = true,
     .place = NormPlace::parallel},
};

constexpr std::string_view norm_names[] = {"rms", "layer"},
                           activation_names[] = {"relu", "gelu", "gelu_tanh", "silu", "relu2"},
                           place_names[] = {"pre", "post", "sandwich", "parallel", "parallel_two", "after"};

constexpr std::string_view works = "; a .safetensors file has place for it";

// ---- Whether a trunk fits -------------------------------------------------------------------------

// A window as wide as the context hides nothing.
Blueprint without_idle_windows(Blueprint b) {
    const auto widen = [&](LayerPlan& plan) {
        if (plan.window >= b.context) plan.window = 0;
    };
    widen(b);
    for (LayerPlan& plan : b.pattern) widen(plan);
    const auto differs = [&](const LayerPlan& plan) { return plan != b.pattern.front(); };
    if (!b.pattern.empty() && std::none_of(b.pattern.begin(), b.pattern.end(), differs)) {
        static_cast<LayerPlan&>(b) = b.pattern.front();
        b.pattern.clear();
    }
    return b;
}

// The property that none of these architectures has in llama.cpp; empty if there is none.
std::string foreign(const Blueprint& b) {
    if (!b.pattern.empty()) return "layers that differ from each other";
    if (b.bidirectional()) return "a mask that is not causal";
    if (b.embedding_width != 0) return "an embedding of " + std::to_string(b.embedding_width) + " columns";
    if (!b.head) return "no language head";
    if (!b.final_norm) return "no norm before the head";
    if (b.window != 0) return "a window of " + std::to_string(b.window) + " tokens";
    if (b.score_scale != 0) return "a score scale of " + decimal(static_cast<double>(b.score_scale));
    if (b.attention_softcap != 0 || b.final_softcap != 0) return "soft caps";
    if (b.embedding_scale != 1) return "an embedding scale of " + decimal(static_cast<double>(b.embedding_scale));
    return {};
}

std::string yes_no(const char* what, bool wanted) {
    return std::string(wanted ? "" : "no ") + what;
}

// The same for the mixture.
std::string misfit_of_experts(const Trunk& t, const Blueprint& b) {
    const bool any = b.experts != 0;
    if (t.experts && any != *t.experts) return "expected " + yes_no("experts", *t.experts);
    if (!any) return {};
    if ((b.shared_expert != 0) != t.shared) return "expected " + yes_no("shared experts", t.shared);
    if (b.experts_renormalised == t.shared)
        return std::string("expected shares of experts that ") + (t.shared ? "do not " : "") + "sum to one";
    if (b.ffn_bias) return "expected no biases of experts";
    if (t.shared && b.out_bias) return "expected no bias of attention's output";
    return {};
}

// The difference between a trunk and the blueprint: "norm layer, not rms"; empty if it fits.
std::string misfit(const Trunk& t, const Blueprint& b) {
    if (b.norm != t.norm) return "expected norm " + std::string(norm_names[static_cast<int>(t.norm)]);
    if (b.norm_place != t.place) return "expected norm_place " + std::string(place_names[static_cast<int>(t.place)]);
    if (b.gated != t.gated) return "expected " + yes_no("gate in the feed-forward branch", t.gated);
    if (b.activation != t.activation)
        return "expected activation " + std::string(activation_names[static_cast<int>(t.activation)]);
    if (b.qk_norm != t.qk_norm)
        return "expected " + yes_no("norm of each head's queries and keys", t.qk_norm != QkNorm::none);
    if (b.embedding_norm != t.embedding_norm) return "expected " + yes_no("norm after the embedding", t.embedding_norm);
    if (t.norm_bias && b.norm == Norm::layer && b.norm_bias != *t.norm_bias)
        return "expected " + yes_no("bias of norms", *t.norm_bias);
    const bool all = b.q_bias && b.k_bias && b.v_bias && b.out_bias && b.ffn_bias,
               any = b.q_bias || b.k_bias || b.v_bias || b.out_bias || b.ffn_bias;
    if (t.biases && (*t.biases ? !all : any)) return "expected " + yes_no("biases", *t.biases);
    if (t.fused && (b.q_bias != b.k_bias || b.k_bias != b.v_bias)) return "expected biases of q, k and v alike";
    if (b.qkv_clip != 0 && !t.clips) return "expected no clip of queries, keys and values";
    if (t.own_head && b.tied_head == *t.own_head) return "expected " + yes_no("head of its own", *t.own_head);
    if (b.head_bias != t.head_bias) return "expected " + yes_no("bias of the head", t.head_bias);
    if (!t.grouped && b.n_kv_heads != b.n_heads) return "expected as many heads of keys as of queries";
    if (!t.grouped && b.n_heads * b.d_head != b.d_model) return "expected heads that are as wide as the model";
    return misfit_of_experts(t, b);
}

const Trunk& find_trunk(const Blueprint& b, const SpecItem& item, const std::string& where) {
    std::string why;
    for (const Trunk& t : trunks) {
        if (t.encoding != item.name) continue;
        const std::string reason = misfit(t, b);
        if (reason.empty()) return t;
        why += (why.empty() ? "" : "; ") + std::string(t.name) + ": " + reason;
    }
    if (!why.empty())
        fail(ErrorCode::usage, where, ": GGUF has no architecture with these layers and the encoding '", item.name,
             "' (", why, ")", works);
    fail(ErrorCode::usage, where, ": no architecture of GGUF's that Ordo writes has the encoding '", item.name,
         "'; rope, learned and alibi work, or a .safetensors file");
}

// ---- The encoding ---------------------------------------------------------------------------------

// Refuses the parameters of an item for which the format has no key.
void only_keys(const SpecItem& item, std::initializer_list<std::string_view> known, const std::string& where) {
    for (const auto& [key, value] : item.values)
        if (std::find(known.begin(), known.end(), key) == known.end())
            fail(ErrorCode::usage, where, ": GGUF has no key for '", key, "=", printable(value), "' of the encoding '",
                 item.name, "'");
}

class Entries {
public:
    Entries(GgufTarget& target) : target_(target) {} // NOLINT: a view of it
    template <class T>
    void operator()(const std::string& key, T value) const {
        target_.metadata.emplace_back(target_.architecture + "." + key, GgufValue::of(value));
    }
    void count(const std::string& key, int value) const { (*this)(key, static_cast<std::uint32_t>(value)); }

private:
    GgufTarget& target_;
};

// The divisors of the frequencies under a scaling; llama.cpp reads them as a tensor.
std::vector<float> divisors(const RopeScaling& scaling, double theta, int width) {
    const std::vector<double> plain = RopeScaling().frequencies(theta, width),
                              scaled = scaling.frequencies(theta, width);
    std::vector<float> out;
    for (std::size_t k = 0; k < plain.size(); ++k) out.push_back(static_cast<float>(plain[k] / scaled[k]));
    return out;
}

void write_longrope(const RopeScaling& s, const Entries& put, GgufTarget& target) {
    const auto floats = [](const std::vector<double>& list) { return std::vector<float>(list.begin(), list.end()); };
    if (s.short_factors == s.long_factors && s.attention == 1) {
        target.factors.emplace_back("rope_freqs.weight", floats(s.long_factors));
        return;
    }
    put("rope.scaling.type", "longrope");
    put("rope.scaling.attn_factor", static_cast<float>(s.attention));
    put.count("rope.scaling.original_context_length", s.original);
    target.factors.emplace_back("rope_factors_long.weight", floats(s.long_factors));
    target.factors.emplace_back("rope_factors_short.weight", floats(s.short_factors));
}

void write_yarn(const RopeScaling& s, const Entries& put, const std::string& where) {
    if (!s.truncate) fail(ErrorCode::usage, where, ": GGUF has no key for 'truncate=no' of the encoding 'rope'");
    // There are keys for these, but with them llama.cpp generated different text.
    const double own = s.factor <= 1 ? 1 : 0.1 * std::log(s.factor) + 1;
    if (s.beta_fast != 32 || s.beta_slow != 1 || s.extrapolation != 1 || std::abs(s.attention - own) > 1e-6)
        fail(ErrorCode::usage, where,
             ": Ordo writes 'scaling=yarn' of the encoding 'rope' with beta-fast=32, beta-slow=1, extrapolation=1 and ",
             "attention=", own, " only, found ", s.beta_fast, ", ", s.beta_slow, ", ", s.extrapolation, " and ",
             s.attention);
    put("rope.scaling.type", "yarn");
    put("rope.scaling.factor", static_cast<float>(s.factor));
    put.count("rope.scaling.original_context_length", s.original);
}

void write_rope(const Blueprint& b, const SpecItem& item, const std::string& where, GgufTarget& target) {
    using Law = RopeScaling::Law;
    const Entries put(target);
    only_keys(item,
              {"theta", "pairing", "width", "scaling", "factor", "original", "beta-fast", "beta-slow", "truncate",
               "low", "high", "short", "long", "attention", "extrapolation"},
              where);
    const double theta = item.number("theta", 10000, 0, 1e12);
    target.from_adjacent = item.choice("pairing", "adjacent", {"adjacent", "halves"}) == "adjacent";
    target.width = item.integer("width", b.d_head, 2, b.d_head);
    const RopeScaling s = RopeScaling::read(item, b.dims(), theta, target.width);
    put.count("rope.dimension_count", target.width);
    const bool ntk = s.law == Law::ntk; // written as its other base
    const double base = ntk ? theta * std::pow(s.factor, target.width / (target.width - 2.0)) : theta;
    put("rope.freq_base", static_cast<float>(base));
    if (s.law == Law::linear) {
        put("rope.scaling.type", "linear");
        put("rope.scaling.factor", static_cast<float>(s.factor));
    } else if (s.law == Law::yarn) {
        write_yarn(s, put, where);
    } else if (s.law == Law::llama3) {
        target.factors.emplace_back("rope_freqs.weight", divisors(s, theta, target.width));
    } else if (s.law == Law::longrope) {
        write_longrope(s, put, target);
    } else if (s.law == Law::dynamic) {
        fail(ErrorCode::usage, where,
             ": GGUF has no key for 'scaling=dynamic' of the encoding 'rope'; with another, as ",
             "linear or yarn, it works");
    }
}

void write_encoding(const Blueprint& b, const Trunk& t, const SpecItem& item, const std::string& where,
                    GgufTarget& target) {
    const Entries put(target);
    if (item.name == "rope") {
        target.to_adjacent = t.adjacent;
        write_rope(b, item, where, target);
    } else if (item.name == "alibi") {
        only_keys(item, {"max", "power"}, where);
        if (item.number("power", 1, 0, 2) != 1)
            fail(ErrorCode::usage, where, ": GGUF has no key for a 'power' of the encoding 'alibi'");
        const double max = item.number("max", 8, 0, 1e6);
        if (t.alibi_max != 0 && max != t.alibi_max)
            fail(ErrorCode::usage, where, ": expected 'max=", decimal(t.alibi_max), "' of the encoding 'alibi', which ",
                 t.name, " fixes, found ", decimal(max));
        if (t.alibi_max == 0) put("attention.max_alibi_bias", static_cast<float>(max));
    } else {
        only_keys(item, {"length", "offset"}, where);
        if (const int offset = item.integer("offset", 0, 0, 1 << 20); offset != 0)
            fail(ErrorCode::usage, where, ": GGUF has no key for 'offset=", offset, "' of the encoding 'learned'");
    }
}

// The trained context. A table of positions must have the same length.
int context_of(const Blueprint& b, const SpecItem& item) {
    return item.name == "learned" ? item.integer("length", b.context, 1, 1 << 22) : b.context;
}

void write_sizes(const Blueprint& b, int context, const Entries& put) {
    put.count("vocab_size", b.vocab_size);
    put.count("context_length", context);
    put.count("embedding_length", b.d_model);
    put.count("block_count", b.n_layers);
    put.count("feed_forward_length", b.ffn_width != 0 ? b.ffn_width : b.d_ff);
    put.count("attention.head_count", b.n_heads);
    put.count("attention.head_count_kv", b.n_kv_heads);
    put.count("attention.key_length", b.d_head);
    put.count("attention.value_length", b.d_head);
    put(b.norm == Norm::rms ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon", b.norm_eps);
    if (b.qkv_clip != 0) put("attention.clamp_kqv", b.qkv_clip);
    if (b.experts == 0) return;
    put.count("expert_count", b.experts);
    put.count("expert_used_count", b.experts_used);
    put.count("expert_feed_forward_length", b.ffn_width != 0 ? b.ffn_width : b.d_ff);
    if (b.shared_expert != 0) put.count("expert_shared_feed_forward_length", b.shared_expert);
}

} // namespace

GgufTarget gguf_target(const Blueprint& blueprint, std::string_view encoding, const std::string& where) {
    const Blueprint b = without_idle_windows(blueprint);
    const std::vector<SpecItem> items = parse_spec(encoding);
    if (const std::string what = foreign(b); !what.empty())
        fail(ErrorCode::usage, where, ": no architecture of GGUF's that Ordo writes has ", what, works);
    if (items.size() != 1 || items.front().is_pattern())
        fail(ErrorCode::usage, where, ": no architecture of GGUF's that Ordo writes has the encoding '",
             printable(encoding), "'; rope, learned or alibi alone work, or a .safetensors file");
    const SpecItem& item = items.front();
    const Trunk& trunk = find_trunk(b, item, where);
    GgufTarget target;
    target.architecture = trunk.name;
    target.fused = trunk.fused;
    target.metadata.emplace_back("general.architecture", GgufValue::of(trunk.name));
    if (trunk.name == "gptneox") target.metadata.emplace_back("gptneox.use_parallel_residual", GgufValue::of(true));
    write_sizes(b, context_of(b, item), Entries(target));
    write_encoding(b, trunk, item, where, target);
    return target;
}

} // namespace ordo
