// SPDX-License-Identifier: MIT
// ALBERT (Lan et al. 2019, arXiv 1909.11942), base: BERT with one layer's weights for all, and a narrow embedding.
#include "models/catalog.h"

namespace ordo {
namespace albert_file {

Blueprint make() {
    Blueprint b = bert_blueprint();
    b.architecture = "albert";
    b.vocab_size = 30000;
    b.activation = Activation::gelu_tanh;
    b.embedding_width = 128;
    b.projected_embedding = true;
    b.distinct_layers = 1;
    return b;
}

ModelPlan plan_of_config(const Config& c, const TensorStore& tensors) {
    ModelPlan plan{make(), {}};
    Blueprint& b = plan.blueprint;
    read_bert_sizes(c, b);
    b.activation = activation_of(c, "hidden_act", "gelu_new");
    b.embedding_width = c.integer("embedding_size", 128, 1, 1 << 16);
    c.only("num_hidden_groups", 1.0);
    b.distinct_layers = c.integer("inner_group_num", 1, 1, 1024 / b.n_layers);
    b.n_layers *= b.distinct_layers;
    plan.encoding = bert_encoding(c);
    read_masked_head(plan, tensors.find("predictions.dense.weight") != nullptr);
    return plan;
}

NameMap names(const ModelPlan&) {
#define LAYER "albert.encoder.albert_layer_groups.0.albert_layers.#."
    return {.rules = {{"embedding", "albert.embeddings.word_embeddings"},
                      {"encoding.segment", "albert.embeddings.token_type_embeddings"},
                      {"encoding.learned", "albert.embeddings.position_embeddings"},
                      {"embedding_norm", "albert.embeddings.LayerNorm"},
                      {"embedding_projection", "albert.encoder.embedding_hidden_mapping_in"},
                      {"layers.#.attention.q", LAYER "attention.query"},
                      {"layers.#.attention.k", LAYER "attention.key"},
                      {"layers.#.attention.v", LAYER "attention.value"},
                      {"layers.#.attention.out", LAYER "attention.dense"},
                      {"layers.#.attention_norm", LAYER "attention.LayerNorm"},
                      {"layers.#.feed_forward.in", LAYER "ffn"},
                      {"layers.#.feed_forward.out", LAYER "ffn_output"},
                      {"layers.#.feed_forward_norm", LAYER "full_layer_layer_norm"},
                      {"head_transform", "predictions.dense"},
                      {"head_norm", "predictions.LayerNorm"},
                      {"head.bias", "predictions.bias"}},
            .prefix = "albert.",
            .ignored = {"position_ids", "pooler.", "sop_classifier.", "predictions.decoder."}};
#undef LAYER
}

} // namespace albert_file

const Architecture albert_architecture = {"albert",
                                          "ALBERT: BERT with one layer's weights for all, and a narrow embedding",
                                          albert_file::make,
                                          "segment+learned",
                                          {{"albert"}, albert_file::plan_of_config, albert_file::names}};

} // namespace ordo
