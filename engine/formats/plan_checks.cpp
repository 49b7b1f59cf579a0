// SPDX-License-Identifier: MIT
#include "formats/plan_checks.h"

namespace ordo {

void refuse_for_all(const Config& config) {
    for (const char* key : {"add_cross_attention", "tie_encoder_decoder"}) config.only(key, false);
    for (const char* key : {"pruned_heads", "per_layer_config"})
        if (const JsonValue* value = config.find(key);
            value != nullptr && !(value->object() && value->object()->empty()))
            config.refuse(key, "{}");
}

void settle_mask(const Config& config, Blueprint& b) {
    if (!b.bidirectional()) return config.only("is_causal", true);
    if (config.flag("is_causal", true)) return; // the family's own mask
    const auto settle = [&](LayerPlan& plan) {
        if (plan.window != 0 && plan.window < b.context)
            config.refuse("is_causal", "true beside a window of " + std::to_string(plan.window) + " tokens");
        plan.window = 0;
    };
    settle(b);
    for (LayerPlan& plan : b.pattern) settle(plan);
}

void drop_missing_head(const Config& config, const TensorStore& tensors, const NameMap& names, Blueprint& b) {
    const JsonValue* const listed = config.find("architectures");
    bool classifies = false;
    if (listed != nullptr && listed->array())
        for (const JsonValue& each : *listed->array())
            for (const char* task : {"ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering"})
                classifies = classifies || (each.string() && each.string()->ends_with(task));
    if (!classifies && (b.tied_head || has_tensor(tensors, names, "head.weight"))) return;
    b.head = b.head_bias = b.head_transform = false;
    b.tied_head = true;
}

} // namespace ordo
