// SPDX-License-Identifier: MIT
// Mistral 7B (Jiang et al. 2023, arXiv 2310.06825): a window of keys.
#include "models/catalog.h"

namespace ordo {
namespace mistral_file {

Blueprint make() {
    Blueprint b;
    b.architecture = "mistral";
    b.vocab_size = 32000;
    b.context = 32768;
    b.n_layers = 32;
    b.d_model = 4096;
    b.n_heads = 32;
    b.n_kv_heads = 8;
    b.d_head = 128;
    b.d_ff = 14336;
    b.window = 4096;
    b.tied_head = false;
    return b;
}

// The published class's defaults for missing keys.
constexpr std::string_view defaults = R"({"max_position_embeddings": 131072, "num_key_value_heads": 8})";

ModelPlan plan_of_config(const Config& given, const TensorStore&) {
    const Config c = given.with_defaults(defaults);
    ModelPlan plan{make(), {}};
    Blueprint& b = plan.blueprint;
    read_llama_sizes(c, b);
    b.tied_head = c.flag("tie_word_embeddings", false);
    b.window = window_of(c, 4096);
    plan.encoding = rope_spec(c, plan);
    return plan;
}

NameMap names(const ModelPlan&) {
    return llama_names();
}

} // namespace mistral_file

const Architecture mistral_architecture = {"mistral",
                                           "Mistral: Llama with a window of keys",
                                           mistral_file::make,
                                           "rope",
                                           {{"mistral"}, mistral_file::plan_of_config, mistral_file::names}};

} // namespace ordo
