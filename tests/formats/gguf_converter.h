// SPDX-License-Identifier: MIT
// Converts the fixtures of tests/families to GGUF, with the tensor names and order of llama.cpp's converter.
#pragma once

#include "tests/formats/gguf_fixture.h"

#include <array>
#include <cmath>

namespace ordo::test {

// gguf-py's table of names, for the fixtures' tensors. Tensors of a layer follow "blk.#.". sandwich: for Gemma 2 and 3,
// where a norm that elsewhere precedes the feed-forward branch follows attention.
inline std::string gguf_name(const std::string& name, bool sandwich) {
    static const std::map<std::string, std::string> all = {
        {"model.embed_tokens", "token_embd"}, {"model.norm", "output_norm"},        {"lm_head", "output"},
        {"transformer.wte", "token_embd"},    {"transformer.wpe", "position_embd"}, {"transformer.ln_f", "output_norm"},
        {"transformer.norm_f", "output_norm"}};
    static const std::map<std::string, std::string> of_layer = {{"input_layernorm", "attn_norm"},
                                                                {"post_attention_layernorm", "ffn_norm"},
                                                                {"pre_feedforward_layernorm", "ffn_norm"},
                                                                {"post_feedforward_layernorm", "post_ffw_norm"},
                                                                {"self_attn.q_proj", "attn_q"},
                                                                {"self_attn.k_proj", "attn_k"},
                                                                {"self_attn.v_proj", "attn_v"},
                                                                {"self_attn.o_proj", "attn_output"},
                                                                {"self_attn.q_norm", "attn_q_norm"},
                                                                {"self_attn.k_norm", "attn_k_norm"},
                                                                {"self_attn.query_layernorm", "attn_q_norm"},
                                                                {"self_attn.key_layernorm", "attn_k_norm"},
                                                                {"self_attn.qkv_proj", "attn_qkv"},
                                                                {"mlp.gate_up_proj", "ffn_up"},
                                                                {"mlp.gate_proj", "ffn_gate"},
                                                                {"mlp.up_proj", "ffn_up"},
                                                                {"mlp.down_proj", "ffn_down"},
                                                                {"mlp.c_fc", "ffn_up"},
                                                                {"mlp.c_proj", "ffn_down"},
                                                                {"block_sparse_moe.gate", "ffn_gate_inp"},
                                                                {"mlp.gate", "ffn_gate_inp"},
                                                                {"mlp.shared_expert.gate_proj", "ffn_gate_shexp"},
                                                                {"mlp.shared_expert.up_proj", "ffn_up_shexp"},
                                                                {"mlp.shared_expert.down_proj", "ffn_down_shexp"},
                                                                {"mlp.shared_expert_gate", "ffn_gate_inp_shexp"},
                                                                {"ln_1", "attn_norm"},
                                                                {"ln_2", "ffn_norm"},
                                                                {"attn.c_attn", "attn_qkv"},
                                                                {"attn.c_proj", "attn_output"},
                                                                {"norm_1", "attn_norm"},
                                                                {"norm_2", "ffn_norm"},
                                                                {"attn.Wqkv", "attn_qkv"},
                                                                {"attn.out_proj", "attn_output"},
                                                                {"ffn.up_proj", "ffn_up"},
                                                                {"ffn.down_proj", "ffn_down"}};
    const std::size_t dot = name.rfind('.');
    const std::string base = name.substr(0, dot), kind = name.substr(dot);
    if (const auto found = all.find(base); found != all.end()) return found->second + kind;
    for (const std::string prefix : {"model.layers.", "transformer.blocks.", "transformer.h."}) {
        if (!base.starts_with(prefix)) continue;
        const std::size_t end = base.find('.', prefix.size());
        const auto found = of_layer.find(base.substr(end + 1));
        if (found == of_layer.end()) return {};
        const bool behind = sandwich && base.ends_with("post_attention_layernorm");
        return "blk." + base.substr(prefix.size(), end - prefix.size()) + "." +
               (behind ? "post_attention_norm" : found->second) + kind;
    }
    return {};
}

// LlamaModel.permute of the converter: the rows (k, half + k) of each head become (2k, 2k + 1).
inline void permute(Values& values, std::int64_t heads) {
    const std::int64_t cols = values.shape.size() == 2 ? values.shape[1] : 1, rows = values.shape[0] / heads;
    const std::vector<float> from = values.all;
    for (std::int64_t h = 0; h < heads; ++h)
        for (std::int64_t pair = 0; pair < rows / 2; ++pair)
            for (std::int64_t part = 0; part < 2; ++part)
                std::copy_n(from.begin() + (h * rows + part * rows / 2 + pair) * cols, cols,
                            values.all.begin() + (h * rows + 2 * pair + part) * cols);
}

inline void add_experts(const Tensors& from, const Json& config, Tensors& to) {
    const bool mixtral = config.contains("num_local_experts");
    const int layers = config.at("num_hidden_layers"),
              experts = config.at(mixtral ? "num_local_experts" : "num_experts");
    const std::string where = mixtral ? ".block_sparse_moe.experts." : ".mlp.experts.";
    const std::array<std::string, 3> names = {"gate", "down", "up"},
                                     theirs = mixtral ? std::array<std::string, 3>{"w1", "w2", "w3"}
                                                      : std::array<std::string, 3>{"gate_proj", "down_proj", "up_proj"};
    for (int i = 0; i < layers; ++i)
        for (std::size_t p = 0; p < names.size(); ++p) {
            Values& all = to["blk." + std::to_string(i) + ".ffn_" + names[p] + "_exps.weight"];
            for (int e = 0; e < experts; ++e) {
                const Values& one = from.at("model.layers." + std::to_string(i) + where + std::to_string(e) + "." +
                                            theirs[p] + ".weight");
                all.shape = {experts, one.shape[0], one.shape[1]};
                all.all.insert(all.all.end(), one.all.begin(), one.all.end());
            }
        }
}

struct GgufCase {
    std::string family, architecture;
    bool permuted = false;
    friend std::ostream& operator<<(std::ostream& out, const GgufCase& each) {
        return out << each.family << " as " << each.architecture;
    }
};

class ConverterFile {
public:
    ConverterFile(const GgufCase& each) : case_(each), config_(config_of(each.family)) {
        metadata_.emplace_back("general.architecture", GgufValue::of(each.architecture));
        Tensors from = tensors_of(each.family);
        if (each.architecture == "gemma-embedding") from = with_model_prefix(from);
        for (const auto& [name, values] : from)
            if (const std::string theirs = gguf_name(name, sandwich()); !theirs.empty()) tensors_[theirs] = values;
        if (each.architecture == "mpt")
            put_mpt();
        else if (each.architecture == "starcoder")
            put_starcoder();
        else
            put_all(from);
    }

    template <class T>
    void put(const std::string& key, T value) {
        metadata_.emplace_back(case_.architecture + "." + key, GgufValue::of(value));
    }
    GgufEntries& metadata() { return metadata_; }
    Tensors& tensors() { return tensors_; }
    std::vector<std::byte> bytes() const { return gguf_of(metadata_, tensors_); }

private:
    void count(const std::string& key, const Json& value) { put(key, value.get<std::uint32_t>()); }
    int number(const char* key, int fallback) const {
        return config_.contains(key) && !config_.at(key).is_null() ? config_.at(key).get<int>() : fallback;
    }

    void put_all(const Tensors& from) {
        const int heads = config_.at("num_attention_heads"), kv = number("num_key_value_heads", heads);
        const int d_head = number("head_dim", config_.at("hidden_size").get<int>() / heads);
        count("context_length", config_.at("max_position_embeddings"));
        count("block_count", config_.at("num_hidden_layers"));
        count("embedding_length", config_.at("hidden_size"));
        count("feed_forward_length", config_.at("intermediate_size"));
        count("attention.head_count", heads);
        count("attention.head_count_kv", kv);
        count("attention.key_length", d_head);
        count("attention.value_length", d_head);
        const bool rms = config_.contains("rms_norm_eps");
        put(rms ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon",
            config_
                .at(rms                                  ? "rms_norm_eps"
                    : config_.contains("layer_norm_eps") ? "layer_norm_eps"
                    : config_.contains("norm_eps")       ? "norm_eps"
                                                         : "norm_epsilon")
                .get<float>());
        put("rope.freq_base", config_.at("rope_theta").get<float>());
        count("rope.dimension_count", static_cast<int>(d_head * config_.value("partial_rotary_factor", 1.0)));
        const int window = config_.value("use_sliding_window", true) ? number("sliding_window", 0) : 0;
        if (window != 0) count("attention.sliding_window", window);
        if (config_.contains("num_experts_per_tok")) put_experts(from);
        if (case_.architecture.starts_with("gemma"))
            put_gemma(d_head);
        else if (case_.architecture == "arcee")
            put_yarn(config_.at("rope_scaling"));
        else if (case_.architecture == "hunyuan-dense")
            put_scaled_base(d_head);
        else if (config_.contains("rope_scaling") && !config_.at("rope_scaling").is_null())
            put_longrope();
        if (case_.architecture == "granite") put_granite();
        if (case_.architecture == "nemotron") add_one_to_norms();
        if (case_.architecture == "stablelm")
            put("use_parallel_residual", config_.at("use_parallel_residual").get<bool>());
        if (case_.architecture == "command-r") put("rope.scaling.type", "none"); // as in the converter's CommandR2Model
        if (config_.contains("logit_scale")) put("logit_scale", config_.at("logit_scale").get<float>());
        for (auto& [name, values] : tensors_) {
            if (case_.permuted && name.find(".attn_q.") != name.npos) permute(values, heads);
            if (case_.permuted && name.find(".attn_k.") != name.npos) permute(values, kv);
        }
    }
    // The converter's GraniteModel.
    void put_granite() {
        for (const auto& [key, theirs] : {std::pair{"attention.scale", "attention_multiplier"},
                                          {"embedding_scale", "embedding_multiplier"},
                                          {"residual_scale", "residual_multiplier"},
                                          {"logit_scale", "logits_scaling"}})
            put(key, config_.at(theirs).get<float>());
    }
    bool sandwich() const { return case_.architecture == "gemma2" || third() || case_.architecture == "olmo2"; }
    bool third() const { return case_.architecture == "gemma3" || case_.architecture == "gemma-embedding"; }
    // The names of a class without a head.
    static Tensors with_model_prefix(const Tensors& from) {
        Tensors to;
        for (const auto& [name, values] : from) to["model." + name] = values;
        return to;
    }
    // GemmaModel and the two after it. There is no key for the scale of scores: here it goes into what queries are
    // multiplied by, as 1/sqrt(query_pre_attn_scalar) = 1/sqrt(d_head) * sqrt(d_head / query_pre_attn_scalar). Those
    // for layers that slide are llama.cpp's.
    void put_gemma(int d_head) {
        add_one_to_norms();
        const double scalar = config_.value("query_pre_attn_scalar", static_cast<double>(d_head));
        for (auto& [name, values] : tensors_)
            if (name.ends_with(third() ? ".attn_q_norm.weight" : ".attn_q.weight"))
                for (float& value : values.all) value *= static_cast<float>(std::sqrt(d_head / scalar));
        if (case_.architecture == "gemma2")
            for (const char* key : {"attn_logit_softcapping", "final_logit_softcapping"})
                put(key, config_.at(key).get<float>());
        if (!third()) return;
        count("attention.sliding_window_pattern", 3);
        put("rope.freq_base_swa", config_.at("rope_local_base_freq").get<float>());
        if (case_.architecture == "gemma-embedding") return put_dense();
        put("rope.scaling.type", "linear");
        put("rope.scaling.factor", config_.at("rope_scaling").at("factor").get<float>());
    }
    // The converter's EmbeddingGemma, with --sentence-transformers-dense-modules.
    void put_dense() {
        for (const std::string number : {"2", "3"}) {
            const Values values = tensors_of(case_.family + "/" + number + "_Dense").at("linear.weight");
            count("dense_" + number + "_feat_in", values.shape[1]);
            count("dense_" + number + "_feat_out", values.shape[0]);
            tensors_["dense_" + number + ".weight"] = values;
        }
    }
    // The converter's HunYuanModel: alpha is part of the base.
    void put_scaled_base(int d_head) {
        const double alpha = config_.at("rope_scaling").at("alpha"), width = d_head;
        std::erase_if(metadata_, [](const auto& entry) { return entry.first == "hunyuan-dense.rope.freq_base"; });
        put("rope.freq_base",
            static_cast<float>(config_.at("rope_theta").get<double>() * std::pow(alpha, width / (width - 2))));
        put("rope.scaling.type", "none");
        put("rope.scaling.factor", 1.0f);
    }
    // The converter's Qwen2MoeModel, and Mixtral's, which has only one width.
    void put_experts(const Tensors& from) {
        count("expert_count", config_.at(config_.contains("num_local_experts") ? "num_local_experts" : "num_experts"));
        count("expert_used_count", config_.at("num_experts_per_tok"));
        if (config_.contains("moe_intermediate_size"))
            count("expert_feed_forward_length", config_.at("moe_intermediate_size"));
        if (config_.contains("shared_expert_intermediate_size"))
            count("expert_shared_feed_forward_length", config_.at("shared_expert_intermediate_size"));
        add_experts(from, config_, tensors_);
    }
    void add_one_to_norms() {
        for (auto& [name, values] : tensors_)
            if (name.ends_with("norm.weight"))
                for (float& value : values.all) value += 1;
    }
    // The converter's ArceeModel, with the betas that its base class writes.
    void put_yarn(const Json& scaling) {
        put("rope.scaling.type", "yarn");
        put("rope.scaling.factor", scaling.at("factor").get<float>());
        count("rope.scaling.original_context_length", scaling.at("original_max_position_embeddings"));
        for (const std::string beta : {"beta_fast", "beta_slow"})
            put("rope.scaling.yarn_" + beta, scaling.at(beta).get<float>());
    }
    // The converter's Phi3MiniModel.
    void put_longrope() {
        const double original = config_.at("original_max_position_embeddings"),
                     scale = config_.at("max_position_embeddings").get<double>() / original;
        count("rope.scaling.original_context_length", original);
        put("rope.scaling.attn_factor", static_cast<float>(std::sqrt(1 + std::log(scale) / std::log(original))));
        for (const std::string name : {"long", "short"}) {
            const auto factors = config_.at("rope_scaling").at(name + "_factor").get<std::vector<float>>();
            tensors_["rope_factors_" + name + ".weight"] = {{static_cast<std::int64_t>(factors.size())}, factors};
        }
    }
    // The converter's StarCoderModel.
    void put_starcoder() {
        count("context_length", config_.at("n_positions"));
        count("block_count", config_.at("n_layer"));
        count("embedding_length", config_.at("n_embd"));
        count("feed_forward_length", number("n_inner", 4 * config_.at("n_embd").get<int>()));
        count("attention.head_count", config_.at("n_head"));
        count("attention.head_count_kv", 1);
        put("attention.layer_norm_epsilon", config_.at("layer_norm_epsilon").get<float>());
    }
    void put_mpt() {
        const Json& attention = config_.at("attn_config");
        count("context_length", config_.at("max_seq_len"));
        count("block_count", config_.at("n_layers"));
        count("embedding_length", config_.at("d_model"));
        count("feed_forward_length", 4 * config_.at("d_model").get<int>());
        count("attention.head_count", config_.at("n_heads"));
        put("attention.layer_norm_epsilon", config_.value("layer_norm_epsilon", 1e-5f));
        put("attention.max_alibi_bias", attention.at("alibi_bias_max").get<float>());
        put("attention.clamp_kqv", attention.at("clip_qkv").get<float>());
        put("attention.scale", attention.at("softmax_scale").get<float>());
    }

    GgufCase case_;
    Json config_;
    GgufEntries metadata_;
    Tensors tensors_;
};

} // namespace ordo::test
