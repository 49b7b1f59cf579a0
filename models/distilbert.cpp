// SPDX-License-Identifier: MIT
// DistilBERT (Sanh et al. 2019, arXiv 1910.01108), base: BERT with half of the layers, without segments and a pooler.
#include "models/catalog.h"

namespace ordo {
namespace distilbert_file {

Blueprint make() {
    Blueprint b = bert_blueprint();
    b.architecture = "distilbert";
    b.n_layers = 6;
    return b;
}

// The published class's defaults for missing keys.
constexpr std::string_view defaults = R"({"max_position_embeddings": 512})";

ModelPlan plan_of_config(const Config& given, const TensorStore& tensors) {
    const Config c = given.with_defaults(defaults);
    c.only("tie_word_embeddings", true);
    ModelPlan plan{make(), "learned"}; // sinusoidal_pos_embds describes the initial values; the file has the table
    Blueprint& b = plan.blueprint;
    b.vocab_size = c.integer("vocab_size");
    b.context = c.integer("max_position_embeddings");
    b.n_layers = c.layers(c.first_of({"n_layers", "num_hidden_layers"}));
    b.d_model = c.integer(c.first_of({"dim", "hidden_size"}));
    const std::string_view heads = c.first_of({"n_heads", "num_attention_heads"});
    b.n_heads = b.n_kv_heads = c.integer(heads);
    if (b.d_model % b.n_heads != 0) c.refuse(heads, "a divisor of dim");
    b.d_head = b.d_model / b.n_heads;
    b.d_ff = c.integer("hidden_dim");
    b.activation = activation_of(c, "activation", "gelu");
    read_masked_head(plan, tensors.find("vocab_transform.weight") != nullptr);
    return plan;
}

NameMap names(const ModelPlan&) {
    return {.rules = {{"embedding", "distilbert.embeddings.word_embeddings"},
                      {"encoding.learned", "distilbert.embeddings.position_embeddings"},
                      {"embedding_norm", "distilbert.embeddings.LayerNorm"},
                      {"layers.#.attention.q", "distilbert.transformer.layer.#.attention.q_lin"},
                      {"layers.#.attention.k", "distilbert.transformer.layer.#.attention.k_lin"},
                      {"layers.#.attention.v", "distilbert.transformer.layer.#.attention.v_lin"},
                      {"layers.#.attention.out", "distilbert.transformer.layer.#.attention.out_lin"},
                      {"layers.#.attention_norm", "distilbert.transformer.layer.#.sa_layer_norm"},
                      {"layers.#.feed_forward.in", "distilbert.transformer.layer.#.ffn.lin1"},
                      {"layers.#.feed_forward.out", "distilbert.transformer.layer.#.ffn.lin2"},
                      {"layers.#.feed_forward_norm", "distilbert.transformer.layer.#.output_layer_norm"},
                      {"head_transform", "vocab_transform"},
                      {"head_norm", "vocab_layer_norm"},
                      {"head.bias", "vocab_projector.bias"}},
            .prefix = "distilbert.",
            .ignored = {"position_ids", "vocab_projector.weight"}};
}

} // namespace distilbert_file

const Architecture distilbert_architecture = {
    "distilbert",
    "DistilBERT: BERT without segments",
    distilbert_file::make,
    "learned",
    {{"distilbert"}, distilbert_file::plan_of_config, distilbert_file::names}};

} // namespace ordo
