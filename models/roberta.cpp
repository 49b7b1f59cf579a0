// SPDX-License-Identifier: MIT
// RoBERTa (Liu et al. 2019, arXiv 1907.11692), base, and XLM-RoBERTa: BERT without segments. Positions begin in the row
// after that of the padding token.
#include "models/catalog.h"

namespace ordo {
namespace roberta_file {

Blueprint make() {
    Blueprint b = bert_blueprint();
    b.architecture = "roberta";
    b.vocab_size = 50265;
    b.norm_eps = 1e-5f;
    return b;
}

ModelPlan plan_of_config(const Config& c, const TensorStore& tensors) {
    ModelPlan plan{make(), {}};
    Blueprint& b = plan.blueprint;
    read_bert_sizes(c, b);
    const int offset = c.integer("pad_token_id", 1, 0, b.context - 2) + 1,
              segments = c.integer("type_vocab_size", 2, 1, 1 << 16);
    b.context -= offset;
    plan.encoding = "segment:count=" + std::to_string(segments) + "+learned:length=" + std::to_string(b.context) +
                    ",offset=" + std::to_string(offset);
    read_masked_head(plan, tensors.find("lm_head.dense.weight") != nullptr);
    return plan;
}

NameMap names(const ModelPlan&) {
    return {.rules = {BERT_NAMES("roberta."),
                      {"head_transform", "lm_head.dense"},
                      {"head_norm", "lm_head.layer_norm"},
                      {"head.bias", "lm_head.bias"}},
            .prefix = "roberta.",
            .ignored = {"position_ids", "pooler.", "lm_head.decoder."}};
}

} // namespace roberta_file

const Architecture roberta_architecture = {
    "roberta",
    "RoBERTa: BERT without segments, positions from behind the padding token's row",
    roberta_file::make,
    "segment:count=1+learned:offset=2",
    {{"roberta", "xlm-roberta", "camembert"}, roberta_file::plan_of_config, roberta_file::names}};

} // namespace ordo
