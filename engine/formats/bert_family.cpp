// SPDX-License-Identifier: MIT
// The common parts of BERT and its relatives.
#include "formats/config_values.h"

namespace ordo {

Blueprint bert_blueprint() {
    Blueprint b;
    b.architecture = "bert";
    b.vocab_size = 30522;
    b.context = 512;
    b.n_layers = 12;
    b.d_model = 768;
    b.n_heads = 12;
    b.n_kv_heads = 12;
    b.d_head = 64;
    b.d_ff = 3072;
    b.norm = Norm::layer;
    b.norm_bias = true;
    b.norm_eps = 1e-12f;
    b.norm_place = NormPlace::post;
    b.activation = Activation::gelu;
    b.gated = false;
    b.attention_bias(true);
    b.ffn_bias = true;
    b.embedding_norm = true;
    b.final_norm = false; // every layer ends with one
    b.mask = Mask::bidirectional;
    return b;
}

void read_bert_sizes(const Config& c, Blueprint& b) {
    c.only("is_decoder", false);
    c.only("position_embedding_type", "absolute");
    c.only("tie_word_embeddings", true);
    b.vocab_size = c.integer("vocab_size");
    b.context = c.integer("max_position_embeddings");
    b.n_layers = c.layers("num_hidden_layers");
    b.d_model = c.integer("hidden_size");
    b.n_heads = b.n_kv_heads = c.integer("num_attention_heads");
    if (b.d_model % b.n_heads != 0) c.refuse("num_attention_heads", "a divisor of hidden_size");
    b.d_head = b.d_model / b.n_heads;
    b.d_ff = c.integer("intermediate_size");
    b.norm_eps = c.norm_eps("layer_norm_eps", 1e-12);
    b.activation = activation_of(c, "hidden_act", "gelu");
}

std::string bert_encoding(const Config& c) {
    return "segment:count=" + std::to_string(c.integer("type_vocab_size", 2, 1, 1 << 16)) + "+learned";
}

void read_masked_head(ModelPlan& plan, bool there) {
    plan.blueprint.head = plan.blueprint.head_transform = plan.blueprint.head_bias = there;
}

} // namespace ordo
