// SPDX-License-Identifier: MIT
// BART (Lewis et al. 2019, arXiv 1910.13461), base; mBART (Liu et al. 2020, arXiv 2001.08210), with norms before the
// branches; M2M100 and NLLB (Fan et al. 2020, arXiv 2010.11125; NLLB Team 2022, arXiv 2207.04672), as mBART with
// sinusoids.
#include "formats/config_values.h"
#include "models/catalog.h"

namespace ordo {
namespace bart_file {

Blueprint make() {
    return with_like_encoder(bart_decoder());
}

ModelPlan plan_of_config(const Config& c, const TensorStore& tensors) {
    const std::string type = c.text("model_type", "bart");
    const bool many = type == "m2m_100", before = type != "bart";
    ModelPlan plan{bart_decoder(), "learned:offset=2"}; // rows 0 and 1 are never read
    Blueprint& b = plan.blueprint;
    b.norm_place = before ? NormPlace::pre : NormPlace::post;
    b.final_norm = before;
    b.embedding_norm = !many;
    if (many) b.activation = Activation::relu;
    b.head_bias = !many && find_tensor(tensors, bart_names(), "final_logits_bias") != nullptr;
    read_bart_sizes(c, many, b);
    if (many) // from the row after the padding token's
        plan.encoding = "sinusoidal:layout=halves,law=tensor2tensor,scale=1,offset=" +
                        std::to_string(c.integer("pad_token_id", 1, 0, b.vocab_size - 1) + 1);
    return plan;
}

NameMap names(const ModelPlan&) {
    return bart_names();
}

} // namespace bart_file

const Architecture bart_architecture = {"bart",
                                        "BART, mBART, M2M100, NLLB: encoder and decoder, LayerNorm, biases",
                                        bart_file::make,
                                        "learned:offset=2",
                                        {{"bart", "mbart", "m2m_100"}, bart_file::plan_of_config, bart_file::names}};

} // namespace ordo
