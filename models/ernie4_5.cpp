// SPDX-License-Identifier: MIT
// ERNIE 4.5 without experts (Baidu 2025), the size of 0.3 billion parameters: Llama with rope on adjacent pairs and a
// tied head.
#include "models/catalog.h"

namespace ordo {
namespace ernie4_5_file {

Blueprint make() {
    Blueprint b;
    b.architecture = "ernie4_5";
    b.vocab_size = 103424;
    b.context = 131072;
    b.n_layers = 18;
    b.d_model = 1024;
    b.n_heads = 16;
    b.n_kv_heads = 2;
    b.d_head = 128;
    b.d_ff = 3072;
    return b;
}

// The published class's defaults for missing keys.
constexpr std::string_view defaults =
    R"({"max_position_embeddings": 131072, "num_key_value_heads": 2, "head_dim": 128})";

ModelPlan plan_of_config(const Config& given, const TensorStore&) {
    const Config c = given.with_defaults(defaults);
    ModelPlan plan{make(), {}};
    Blueprint& b = plan.blueprint;
    read_llama_sizes(c, b);
    b.norm_eps = c.norm_eps("rms_norm_eps", 1e-5);
    b.attention_bias(c.flag("use_bias", false));
    b.ffn_bias = c.flag("use_bias", false);
    b.tied_head = c.flag("tie_word_embeddings", true);
    plan.encoding = rope_spec(c, plan, {.theta = 500000, .pairing = "adjacent"});
    return plan;
}

NameMap names(const ModelPlan&) {
    return llama_names();
}

} // namespace ernie4_5_file

const Architecture ernie4_5_architecture = {"ernie4_5",
                                            "ERNIE 4.5: Llama with rope on adjacent pairs, tied head",
                                            ernie4_5_file::make,
                                            "rope",
                                            {{"ernie4_5"}, ernie4_5_file::plan_of_config, ernie4_5_file::names}};

} // namespace ordo
