// SPDX-License-Identifier: MIT
// T5 (Raffel et al. 2020, arXiv 1910.10683), small, and its successors (version 1.1, Flan, mT5). It is an encoder and a
// decoder with pre-norm RMSNorm without biases, unscaled scores, and a distance bias shared by the layers of each
// stack. Version 1.0 has ReLU, and a tied head whose input rows are multiplied with 1/sqrt(d_model). Version 1.1 has a
// gated GELU and a head of its own.
#include "models/catalog.h"

#include <cmath>

namespace ordo {
namespace t5_file {

// The decoder's fields are the encoder's, except the number of layers.
void add_encoder(Blueprint& b, int layers) {
    Blueprint encoder = b.like_this();
    encoder.mask = Mask::bidirectional;
    encoder.n_layers = layers;
    b.encoder.clear();
    b.encoder.push_back(std::move(encoder));
    b.cross_attention = true;
}

Blueprint decoder() {
    Blueprint b;
    b.architecture = "t5";
    b.vocab_size = 32128;
    b.context = 512;
    b.n_layers = 6;
    b.d_model = 512;
    b.n_heads = 8;
    b.n_kv_heads = 8;
    b.d_head = 64;
    b.d_ff = 2048;
    b.norm_eps = 1e-6f;
    b.score_scale = 1;
    b.activation = Activation::relu;
    b.gated = false;
    return b;
}

float tied_scale(const Blueprint& b) {
    return static_cast<float>(1 / std::sqrt(static_cast<double>(b.d_model)));
}

Blueprint make() {
    Blueprint b = decoder();
    b.head_scale = tied_scale(b);
    add_encoder(b, b.n_layers);
    return b;
}

// "relu", "gated-gelu". The latter is the tanh form of GELU, as in transformers.
void read_activation(const Config& c, Blueprint& b, std::string_view fallback) {
    const std::string kind = c.text("feed_forward_proj", fallback);
    b.gated = kind.starts_with("gated-");
    const std::string name = b.gated ? kind.substr(6) : kind;
    if (name == "relu")
        b.activation = Activation::relu;
    else if (name == "gelu")
        b.activation = b.gated ? Activation::gelu_tanh : Activation::gelu;
    else if (name == "silu")
        b.activation = Activation::silu;
    else
        c.refuse("feed_forward_proj", "relu, gelu, silu, gated-relu, gated-gelu or gated-silu");
}

// The head is the embedding, with rows times 1/sqrt(d_model), or separate. transformers 5 writes tie_word_embeddings
// true for both. There scale_decoder_outputs distinguishes them for T5, and for mT5 the presence of a head in the file.
void read_head(const Config& c, const TensorStore& tensors, bool multilingual, Blueprint& b) {
    const bool tied = c.flag("tie_word_embeddings", !multilingual), own = tensors.find("lm_head.weight") != nullptr;
    const bool scaled = c.flag("scale_decoder_outputs", multilingual ? tied && !own : tied);
    b.tied_head = tied && (scaled || !own);
    b.head_scale = scaled ? tied_scale(b) : 1;
}

// The encoder as a model of its own, without a head (sentence-t5, GTR).
void keep_encoder(Blueprint& b) {
    Blueprint encoder = b.encoder.front();
    encoder.head = false;
    encoder.tied_head = true;
    encoder.head_scale = 1;
    b = std::move(encoder);
}

ModelPlan plan_of_config(const Config& c, const TensorStore& tensors) {
    const bool multilingual = c.text("model_type", "t5") == "mt5"; // its defaults are those of version 1.1
    ModelPlan plan{decoder(), {}};
    Blueprint& b = plan.blueprint;
    b.vocab_size = c.integer("vocab_size");
    b.context = c.integer("n_positions", 512, 1, 1 << 22); // not a limit: the bias has none
    b.d_model = c.integer("d_model");
    b.n_heads = b.n_kv_heads = c.integer("num_heads");
    b.d_head = c.integer("d_kv");
    b.d_ff = c.integer("d_ff");
    b.norm_eps = c.norm_eps("layer_norm_epsilon", 1e-6);
    read_activation(c, b, multilingual ? "gated-gelu" : "relu");
    read_head(c, tensors, multilingual, b);
    const int layers = c.layers("num_layers");
    b.n_layers = c.integer("num_decoder_layers", layers, 1, 1024);
    add_encoder(b, layers);
    const int buckets = c.integer("relative_attention_num_buckets", 32, 4, 4096);
    if (buckets % 4 != 0)
        c.refuse("relative_attention_num_buckets", "a multiple of 4"); // halves of halves, in the encoder
    const int distance = c.integer("relative_attention_max_distance", 128, 2, 1 << 20);
    if (distance <= buckets / 2)
        c.refuse(c.first_of({"relative_attention_max_distance", "relative_attention_num_buckets"}),
                 "a distance of more than half of the buckets, " + std::to_string(buckets / 2));
    plan.encoding = "t5:buckets=" + std::to_string(buckets) + ",distance=" + std::to_string(distance);
    if (tensors.find("encoder.final_layer_norm.weight") && !tensors.find("decoder.final_layer_norm.weight"))
        keep_encoder(b);
    return plan;
}

NameMap names_of_both() {
    return {.rules = {{"embedding", "shared"},
                      {"embedding", "encoder.embed_tokens"},
                      {"embedding", "decoder.embed_tokens"},
                      {"encoder.encoding.t5", "encoder.block.0.layer.0.SelfAttention.relative_attention_bias"},
                      {"encoder.layers.#.attention_norm", "encoder.block.#.layer.0.layer_norm"},
                      {"encoder.layers.#.attention.q", "encoder.block.#.layer.0.SelfAttention.q"},
                      {"encoder.layers.#.attention.k", "encoder.block.#.layer.0.SelfAttention.k"},
                      {"encoder.layers.#.attention.v", "encoder.block.#.layer.0.SelfAttention.v"},
                      {"encoder.layers.#.attention.out", "encoder.block.#.layer.0.SelfAttention.o"},
                      {"encoder.layers.#.feed_forward_norm", "encoder.block.#.layer.1.layer_norm"},
                      {"encoder.layers.#.feed_forward.in", "encoder.block.#.layer.1.DenseReluDense.wi"},
                      {"encoder.layers.#.feed_forward.gate", "encoder.block.#.layer.1.DenseReluDense.wi_0"},
                      {"encoder.layers.#.feed_forward.up", "encoder.block.#.layer.1.DenseReluDense.wi_1"},
                      {"encoder.layers.#.feed_forward.out", "encoder.block.#.layer.1.DenseReluDense.wo"},
                      {"encoder.final_norm", "encoder.final_layer_norm"},
                      {"encoding.t5", "decoder.block.0.layer.0.SelfAttention.relative_attention_bias"},
                      {"layers.#.attention_norm", "decoder.block.#.layer.0.layer_norm"},
                      {"layers.#.attention.q", "decoder.block.#.layer.0.SelfAttention.q"},
                      {"layers.#.attention.k", "decoder.block.#.layer.0.SelfAttention.k"},
                      {"layers.#.attention.v", "decoder.block.#.layer.0.SelfAttention.v"},
                      {"layers.#.attention.out", "decoder.block.#.layer.0.SelfAttention.o"},
                      {"layers.#.cross_attention_norm", "decoder.block.#.layer.1.layer_norm"},
                      {"layers.#.cross_attention.q", "decoder.block.#.layer.1.EncDecAttention.q"},
                      {"layers.#.cross_attention.k", "decoder.block.#.layer.1.EncDecAttention.k"},
                      {"layers.#.cross_attention.v", "decoder.block.#.layer.1.EncDecAttention.v"},
                      {"layers.#.cross_attention.out", "decoder.block.#.layer.1.EncDecAttention.o"},
                      {"layers.#.feed_forward_norm", "decoder.block.#.layer.2.layer_norm"},
                      {"layers.#.feed_forward.in", "decoder.block.#.layer.2.DenseReluDense.wi"},
                      {"layers.#.feed_forward.gate", "decoder.block.#.layer.2.DenseReluDense.wi_0"},
                      {"layers.#.feed_forward.up", "decoder.block.#.layer.2.DenseReluDense.wi_1"},
                      {"layers.#.feed_forward.out", "decoder.block.#.layer.2.DenseReluDense.wo"},
                      {"final_norm", "decoder.final_layer_norm"},
                      {"head", "lm_head"}},
            .prefix = {},
            .ignored = {"lm_head.weight", "embed_tokens.weight", "EncDecAttention.relative_attention_bias.weight"}};
}

NameMap names(const ModelPlan& plan) {
    NameMap map = names_of_both();
    if (!plan.blueprint.encoder.empty()) return map;
    std::erase_if(map.rules, [](const NameRule& rule) { return rule.theirs.starts_with("decoder."); });
    for (NameRule& rule : map.rules)
        if (constexpr std::string_view prefix = "encoder."; rule.ours.starts_with(prefix))
            rule.ours.remove_prefix(prefix.size());
    return map;
}

// In a GGUF, block_count is the number of the encoder's layers. There are no keys for the furthest distance, 128 in all
// published models, and for the activation, which depends on the gate. UMT5 has the same name, with a table in every
// layer.
ModelPlan plan_of_gguf(const Config& c, const TensorStore& tensors) {
    ModelPlan plan{decoder(), {}};
    Blueprint& b = plan.blueprint;
    read_gguf_sizes(c, tensors, b);
    for (const char* table : {"enc.blk.1.attn_rel_b.weight", "dec.blk.1.attn_rel_b.weight"})
        if (const FileTensor* found = tensors.find(table); found != nullptr)
            fail(ErrorCode::model, tensors.name_of(*found),
                 ": expected one table of distances for all layers of a stack, as T5 has it, found one for this layer");
    b.score_scale = 1;
    b.gated = tensors.find("dec.blk.0.ffn_gate.weight") != nullptr;
    b.activation = b.gated ? Activation::gelu_tanh : Activation::relu;
    // Models with a tied head have ReLU. A file may hold a copy of the head.
    b.head_scale = b.tied_head || !b.gated ? tied_scale(b) : 1;
    const int encoder_layers = b.n_layers;
    b.n_layers = c.integer("decoder_block_count", encoder_layers, 1, 1024);
    add_encoder(b, encoder_layers);
    const int buckets = c.integer("attention.relative_buckets_count", 4, 128);
    if (buckets % 4 != 0) c.refuse("attention.relative_buckets_count", "a multiple of 4");
    plan.encoding = "t5:buckets=" + std::to_string(buckets) + ",distance=128";
    return plan;
}

std::vector<NameRule> names_in_gguf() {
    return {{"encoder.encoding.t5", "enc.blk.0.attn_rel_b"},
            {"encoder.layers.#.attention_norm", "enc.blk.#.attn_norm"},
            {"encoder.layers.#.attention.q", "enc.blk.#.attn_q"},
            {"encoder.layers.#.attention.k", "enc.blk.#.attn_k"},
            {"encoder.layers.#.attention.v", "enc.blk.#.attn_v"},
            {"encoder.layers.#.attention.out", "enc.blk.#.attn_o"},
            {"encoder.layers.#.feed_forward_norm", "enc.blk.#.ffn_norm"},
            {"encoder.layers.#.feed_forward.gate", "enc.blk.#.ffn_gate"},
            {"encoder.layers.#.feed_forward.out", "enc.blk.#.ffn_down"},
            {"encoder.final_norm", "enc.output_norm"},
            {"encoding.t5", "dec.blk.0.attn_rel_b"},
            {"layers.#.attention_norm", "dec.blk.#.attn_norm"},
            {"layers.#.attention.q", "dec.blk.#.attn_q"},
            {"layers.#.attention.k", "dec.blk.#.attn_k"},
            {"layers.#.attention.v", "dec.blk.#.attn_v"},
            {"layers.#.attention.out", "dec.blk.#.attn_o"},
            {"layers.#.cross_attention_norm", "dec.blk.#.cross_attn_norm"},
            {"layers.#.cross_attention.q", "dec.blk.#.cross_attn_q"},
            {"layers.#.cross_attention.k", "dec.blk.#.cross_attn_k"},
            {"layers.#.cross_attention.v", "dec.blk.#.cross_attn_v"},
            {"layers.#.cross_attention.out", "dec.blk.#.cross_attn_o"},
            {"layers.#.feed_forward_norm", "dec.blk.#.ffn_norm"},
            {"layers.#.feed_forward.gate", "dec.blk.#.ffn_gate"},
            {"layers.#.feed_forward.out", "dec.blk.#.ffn_down"},
            {"final_norm", "dec.output_norm"}};
}

} // namespace t5_file

const Architecture t5_architecture = {"t5",
                                      "T5: encoder and decoder, pre-norm RMSNorm, ReLU or gated GELU, no biases",
                                      t5_file::make,
                                      "t5",
                                      {{"t5", "mt5"}, t5_file::plan_of_config, t5_file::names},
                                      {{"t5"}, t5_file::plan_of_gguf, t5_file::names_in_gguf()}};

} // namespace ordo
