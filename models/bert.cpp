// SPDX-License-Identifier: MIT
// BERT (Devlin et al. 2018, arXiv 1810.04805), base: every token sees every other. Includes the head of its masked
// language model, if the file has it: a matrix, GELU and a norm before the embedding, and a bias after it.
#include "models/catalog.h"

namespace ordo {
namespace bert_file {

ModelPlan plan_of_config(const Config& c, const TensorStore& tensors) {
    ModelPlan plan{bert_blueprint(), {}};
    read_bert_sizes(c, plan.blueprint);
    plan.encoding = bert_encoding(c);
    read_masked_head(plan, tensors.find("cls.predictions.transform.dense.weight") != nullptr);
    return plan;
}

NameMap names(const ModelPlan&) {
    return {.rules = {BERT_NAMES("bert."),
                      {"head_transform", "cls.predictions.transform.dense"},
                      {"head_norm", "cls.predictions.transform.LayerNorm"},
                      {"head.bias", "cls.predictions.bias"},
                      // Google's first files call a norm's weight gamma and its bias beta.
                      {"embedding_norm.weight", "bert.embeddings.LayerNorm.gamma"},
                      {"embedding_norm.bias", "bert.embeddings.LayerNorm.beta"},
                      {"layers.#.attention_norm.weight", "bert.encoder.layer.#.attention.output.LayerNorm.gamma"},
                      {"layers.#.attention_norm.bias", "bert.encoder.layer.#.attention.output.LayerNorm.beta"},
                      {"layers.#.feed_forward_norm.weight", "bert.encoder.layer.#.output.LayerNorm.gamma"},
                      {"layers.#.feed_forward_norm.bias", "bert.encoder.layer.#.output.LayerNorm.beta"},
                      {"head_norm.weight", "cls.predictions.transform.LayerNorm.gamma"},
                      {"head_norm.bias", "cls.predictions.transform.LayerNorm.beta"}},
            .prefix = "bert.",
            .ignored = {"position_ids", "pooler.", "cls.seq_relationship.", "cls.predictions.decoder."}};
}

// llama.cpp's converter keeps the part for vectors, without the head of a masked model. It writes RoBERTa and
// DistilBERT in the same form: of a table of positions only the used rows, and segments if there are any. The file does
// not give the activation, which is GELU by erf in all of them.
ModelPlan plan_of_gguf(const Config& c, const TensorStore& tensors) {
    ModelPlan plan{bert_blueprint(), {}};
    Blueprint& b = plan.blueprint;
    c.only("attention.causal", false);
    read_gguf_sizes(c, tensors, b);
    b.norm_bias = true;
    const FileTensor* const segments = tensors.find("token_types.weight");
    plan.encoding = segments == nullptr ? "learned" : "segment:count=" + std::to_string(segments->rows()) + "+learned";
    read_masked_head(plan, false);
    return plan;
}

} // namespace bert_file

const Architecture bert_architecture = {"bert",
                                        "BERT: bidirectional, post-norm LayerNorm, norm after the embedding, GELU",
                                        bert_blueprint,
                                        "segment+learned",
                                        {{"bert"}, bert_file::plan_of_config, bert_file::names},
                                        {{"bert"},
                                         bert_file::plan_of_gguf,
                                         {{"layers.#.attention_norm", "blk.#.attn_output_norm"},
                                          {"layers.#.feed_forward_norm", "blk.#.layer_output_norm"}}}};

} // namespace ordo
