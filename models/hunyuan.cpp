// SPDX-License-Identifier: MIT
// Hunyuan without experts (Tencent 2025), the size of 7 billion parameters: Llama with norms of each head's queries and
// keys after their rotation. alpha of its dynamic scaling multiplies theta, for texts of any length.
#include "models/catalog.h"

namespace ordo {
namespace hunyuan_file {

Blueprint make() {
    Blueprint b;
    b.architecture = "hunyuan";
    b.vocab_size = 128167;
    b.context = 32768;
    b.n_layers = 32;
    b.d_model = 4096;
    b.n_heads = 32;
    b.n_kv_heads = 8;
    b.d_head = 128;
    b.d_ff = 14336;
    b.qk_norm = QkNorm::rotated;
    return b;
}

ModelPlan plan_of_config(const Config& given, const TensorStore&) {
    const Config c = given.with_defaults(R"({"max_position_embeddings": 2048})");
    c.only("use_qk_norm", true);
    c.only("use_cla", false); // layers that share keys and values
    c.only("mlp_bias", false);
    ModelPlan plan{make(), {}};
    Blueprint& b = plan.blueprint;
    read_llama_sizes(c, b);
    b.norm_eps = c.norm_eps("rms_norm_eps", 1e-5);
    b.attention_bias(c.flag("attention_bias", false));
    b.tied_head = c.flag("tie_word_embeddings", false);
    plan.encoding = rope_spec(c, plan, {.alpha = true});
    return plan;
}

NameMap names(const ModelPlan&) {
    NameMap map = llama_names();
    map.rules.insert(map.rules.begin(), {{"layers.#.attention.q_norm", "model.layers.#.self_attn.query_layernorm"},
                                         {"layers.#.attention.k_norm", "model.layers.#.self_attn.key_layernorm"}});
    return map;
}

ModelPlan plan_of_gguf(const Config& c, const TensorStore& tensors) {
    ModelPlan plan{make(), {}};
    read_gguf_sizes(c, tensors, plan.blueprint);
    plan.blueprint.qk_norm = QkNorm::rotated;
    plan.encoding = gguf_rope_spec(c, tensors, plan.blueprint, "halves");
    return plan;
}

} // namespace hunyuan_file

const Architecture hunyuan_architecture = {"hunyuan",
                                           "Hunyuan: Llama with norms of queries and keys after the rotation",
                                           hunyuan_file::make,
                                           "rope:scaling=ntk,factor=1000",
                                           {{"hunyuan_v1_dense"}, hunyuan_file::plan_of_config, hunyuan_file::names},
                                           {{"hunyuan-dense"}, hunyuan_file::plan_of_gguf}};

} // namespace ordo
