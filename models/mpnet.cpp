// SPDX-License-Identifier: MIT
// MPNet (Song et al. 2020, arXiv 2004.09297), base: RoBERTa without segments, with T5's distance bias in all layers.
#include "models/catalog.h"

namespace ordo {
namespace mpnet_file {

constexpr int offset = 2; // of positions in their table: behind the row of the padding token, whose id is always 1

Blueprint make() {
    Blueprint b = bert_blueprint();
    b.architecture = "mpnet";
    b.vocab_size = 30527;
    return b;
}

ModelPlan plan_of_config(const Config& c, const TensorStore& tensors) {
    ModelPlan plan{make(), {}};
    Blueprint& b = plan.blueprint;
    read_bert_sizes(c, b);
    if (b.context <= offset) c.refuse("max_position_embeddings", "more than 2");
    b.context -= offset;
    // The class reads no other number of buckets: a table of another size would not be used as a whole.
    c.only("relative_attention_num_buckets", 32.0);
    plan.encoding = "learned:length=" + std::to_string(b.context) + ",offset=" + std::to_string(offset) +
                    "+t5:buckets=32,distance=128";
    read_masked_head(plan, tensors.find("lm_head.dense.weight") != nullptr);
    return plan;
}

NameMap names(const ModelPlan&) {
    return {.rules = {{"embedding", "mpnet.embeddings.word_embeddings"},
                      {"encoding.learned", "mpnet.embeddings.position_embeddings"},
                      {"encoding.t5", "mpnet.encoder.relative_attention_bias"},
                      {"embedding_norm", "mpnet.embeddings.LayerNorm"},
                      {"layers.#.attention.q", "mpnet.encoder.layer.#.attention.attn.q"},
                      {"layers.#.attention.k", "mpnet.encoder.layer.#.attention.attn.k"},
                      {"layers.#.attention.v", "mpnet.encoder.layer.#.attention.attn.v"},
                      {"layers.#.attention.out", "mpnet.encoder.layer.#.attention.attn.o"},
                      {"layers.#.attention_norm", "mpnet.encoder.layer.#.attention.LayerNorm"},
                      {"layers.#.feed_forward.in", "mpnet.encoder.layer.#.intermediate.dense"},
                      {"layers.#.feed_forward.out", "mpnet.encoder.layer.#.output.dense"},
                      {"layers.#.feed_forward_norm", "mpnet.encoder.layer.#.output.LayerNorm"},
                      {"head_transform", "lm_head.dense"},
                      {"head_norm", "lm_head.layer_norm"},
                      {"head.bias", "lm_head.bias"}},
            .prefix = "mpnet.",
            .ignored = {"position_ids", "pooler.", "lm_head.decoder."}};
}

} // namespace mpnet_file

const Architecture mpnet_architecture = {"mpnet",
                                         "MPNet: BERT without segments, with T5's distance bias",
                                         mpnet_file::make,
                                         "learned:offset=2+t5:buckets=32,distance=128",
                                         {{"mpnet"}, mpnet_file::plan_of_config, mpnet_file::names}};

} // namespace ordo
