// SPDX-License-Identifier: MIT
// ELECTRA (Clark et al. 2020, arXiv 2003.10555), the small size: BERT whose embedding has a width of its own.
// Generators have the head of a masked language model; discriminators, which tell replaced tokens, give states.
#include "models/catalog.h"

namespace ordo {
namespace electra_file {

Blueprint make() {
    Blueprint b = bert_blueprint();
    b.architecture = "electra";
    b.d_model = 256;
    b.n_heads = b.n_kv_heads = 4;
    b.d_ff = 1024;
    b.embedding_width = 128;
    b.projected_embedding = true;
    return b;
}

ModelPlan plan_of_config(const Config& c, const TensorStore& tensors) {
    ModelPlan plan{make(), {}};
    Blueprint& b = plan.blueprint;
    read_bert_sizes(c, b);
    const int width = c.integer("embedding_size", 128, 1, 1 << 16);
    b.projected_embedding = width != b.d_model;
    b.embedding_width = b.projected_embedding ? width : 0;
    plan.encoding = bert_encoding(c);
    const bool head = tensors.find("generator_predictions.dense.weight") != nullptr;
    // The head's activation is GELU, whatever hidden_act says.
    if (head && b.activation != Activation::gelu) c.refuse("hidden_act", "gelu beside a head");
    read_masked_head(plan, head);
    return plan;
}

NameMap names(const ModelPlan&) {
    return {.rules = {BERT_NAMES("electra."),
                      {"embedding_projection", "electra.embeddings_project"},
                      {"head_transform", "generator_predictions.dense"},
                      {"head_norm", "generator_predictions.LayerNorm"},
                      {"head.bias", "generator_lm_head.bias"}},
            .prefix = "electra.",
            .ignored = {"position_ids", "discriminator_predictions.", "generator_lm_head.weight"}};
}

} // namespace electra_file

const Architecture electra_architecture = {"electra",
                                           "ELECTRA: BERT with an embedding of another width",
                                           electra_file::make,
                                           "segment+learned",
                                           {{"electra"}, electra_file::plan_of_config, electra_file::names}};

} // namespace ordo
