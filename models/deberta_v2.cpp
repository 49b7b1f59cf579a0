// SPDX-License-Identifier: MIT
// DeBERTa 2 and 3 (He et al. 2021, arXiv 2006.03654 and 2111.09543), version 3's base: BERT whose scores also depend on
// vectors of distances. All layers share one table of them, and each layer multiplies it with matrices of its own.
#include "models/catalog.h"

#include <cmath>

namespace ordo {
namespace deberta_v2_file {

Blueprint make() {
    Blueprint b = bert_blueprint();
    b.architecture = "deberta_v2";
    b.vocab_size = 128100;
    b.norm_eps = 1e-7f;
    return b;
}

bool has(const TensorStore& tensors, const std::string& name) {
    return tensors.find(name) != nullptr || tensors.find("deberta." + name) != nullptr;
}

// Which of c2p and p2c the key names, as a text "c2p|p2c" or a list.
struct Terms {
    bool c2p = false, p2c = false;
    int count() const { return (c2p ? 1 : 0) + (p2c ? 1 : 0); }
};

Terms terms_of(const Config& c) {
    Terms terms;
    if (!c.has("pos_att_type")) return terms;
    std::vector<std::string> names;
    if (c.find("pos_att_type")->string()) {
        const std::string text = c.text("pos_att_type", "") + "|";
        for (std::size_t from = 0, end = 0; (end = text.find('|', from)) != text.npos; from = end + 1)
            names.push_back(text.substr(from, end - from));
    } else {
        names = c.texts("pos_att_type");
    }
    for (const std::string& name : names)
        if (name == "c2p")
            terms.c2p = true;
        else if (name == "p2c")
            terms.p2c = true;
        else if (!name.empty())
            c.refuse("pos_att_type", "c2p, p2c or both");
    return terms;
}

std::string relative(const Config& c, const Terms& terms, const TensorStore& tensors, int context) {
    int distance = c.integer("max_relative_positions", -1, -1, 4096);
    if (distance < 1) distance = context;
    const int buckets = c.integer("position_buckets", -1, -1, 4096);
    if (buckets > 0 && (buckets % 2 != 0 || distance < buckets / 2 + 2))
        c.refuse("position_buckets",
                 "an even number of at most twice the positions, " + std::to_string(distance) + ", less 4");
    const std::string own = "encoder.layer.0.attention.self.pos_" + std::string(terms.c2p ? "key" : "query") + "_proj";
    if (c.flag("share_att_key", false) == has(tensors, own + ".weight"))
        c.refuse("share_att_key", "false beside matrices pos_key_proj and pos_query_proj, and true without them");
    const std::string norm = c.text("norm_rel_ebd", "none");
    if ((norm != "none" && norm != "layer_norm") || (norm == "none") == has(tensors, "encoder.LayerNorm.weight"))
        c.refuse("norm_rel_ebd", "layer_norm beside a tensor encoder.LayerNorm.weight, and none without it");
    std::string spec = "deberta:span=" + std::to_string(buckets > 0 ? buckets : distance) + ",order=code,terms=";
    spec += terms.count() == 2 ? "both" : terms.c2p ? "c2p" : "p2c";
    return buckets > 0 ? spec + ",distance=" + std::to_string(distance) : spec;
}

ModelPlan plan_of_config(const Config& c, const TensorStore& tensors) {
    ModelPlan plan{make(), {}};
    Blueprint& b = plan.blueprint;
    read_bert_sizes(c, b);
    b.norm_eps = c.norm_eps("layer_norm_eps", 1e-7);
    c.only("embedding_size", static_cast<double>(b.d_model));
    c.only("attention_head_size", static_cast<double>(b.d_head));
    c.only("conv_kernel_size", 0.0);
    const Terms terms = terms_of(c);
    const auto add = [&](const std::string& item) { plan.encoding += (plan.encoding.empty() ? "" : "+") + item; };
    if (const int segments = c.integer("type_vocab_size", 0, 0, 1 << 16); segments != 0)
        add("segment:count=" + std::to_string(segments));
    if (c.flag("position_biased_input", true)) add("learned");
    if (c.flag("relative_attention", false) && terms.count() != 0)
        add(relative(c, terms, tensors, b.context));
    else if (terms.count() != 0) // the terms count in the scale even if there is none
        b.score_scale = static_cast<float>(1 / std::sqrt(1.0 * b.d_head * (1 + terms.count())));
    if (plan.encoding.empty()) plan.encoding = "none";
    const bool old = c.flag("legacy", true);
    read_masked_head(plan, tensors.find(old ? "cls.predictions.transform.dense.weight"
                                            : "lm_predictions.lm_head.dense.weight") != nullptr);
    return plan;
}

#define LAYER "deberta.encoder.layer.#.attention."
NameMap names(const ModelPlan&) {
    NameMap map{.rules = {BERT_NAMES("deberta."),
                          {"layers.#.attention.q", LAYER "self.query_proj"},
                          {"layers.#.attention.k", LAYER "self.key_proj"},
                          {"layers.#.attention.v", LAYER "self.value_proj"},
                          {"encoding.deberta.layers.#.keys", LAYER "self.pos_key_proj", Layout::projected},
                          {"encoding.deberta.layers.#.keys", LAYER "self.key_proj", Layout::projected},
                          {"encoding.deberta.layers.#.queries", LAYER "self.pos_query_proj", Layout::projected},
                          {"encoding.deberta.layers.#.queries", LAYER "self.query_proj", Layout::projected},
                          {"head_transform", "cls.predictions.transform.dense"},
                          {"head_norm", "cls.predictions.transform.LayerNorm"},
                          {"head.bias", "cls.predictions.bias"},
                          {"head_transform", "lm_predictions.lm_head.dense"},
                          {"head_norm", "lm_predictions.lm_head.LayerNorm"},
                          {"head.bias", "lm_predictions.lm_head.bias"}},
                .prefix = "deberta.",
                .ignored = {"position_ids", "position_embeddings", "pooler.", "cls.predictions.", "lm_predictions.",
                            "mask_predictions."},
                .table = "deberta.encoder.rel_embeddings.weight",
                .table_norm = "deberta.encoder.LayerNorm"};
    return map;
}
#undef LAYER

} // namespace deberta_v2_file

const Architecture deberta_v2_architecture = {
    "deberta_v2",
    "DeBERTa 2 and 3: BERT with vectors of distances, whose table each layer projects",
    deberta_v2_file::make,
    "deberta:span=256,distance=512,order=code",
    {{"deberta-v2"}, deberta_v2_file::plan_of_config, deberta_v2_file::names}};

} // namespace ordo
