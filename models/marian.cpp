// SPDX-License-Identifier: MIT
// Marian (Junczys-Dowmunt et al. 2018, arXiv 1804.00344), as the OPUS-MT models: BART with sinusoids and no norm of the
// embedding.
#include "formats/config_values.h"
#include "models/catalog.h"

#include <cmath>

namespace ordo {
namespace marian_file {

constexpr std::string_view sinusoids = "sinusoidal:scale=1,layout=halves";

Blueprint decoder() {
    Blueprint b = bart_decoder();
    b.architecture = "marian";
    b.vocab_size = 58101;
    b.context = 512;
    b.d_model = 512;
    b.n_heads = 8;
    b.n_kv_heads = 8;
    b.d_ff = 2048;
    b.embedding_norm = false;
    b.embedding_scale = std::sqrt(512.0f);
    return b;
}

Blueprint make() {
    Blueprint b = decoder();
    b.activation = Activation::silu;
    return with_like_encoder(b);
}

ModelPlan plan_of_config(const Config& c, const TensorStore&) {
    if (!c.flag("share_encoder_decoder_embeddings", true))
        c.refuse("share_encoder_decoder_embeddings", "true, one vocabulary for both languages");
    c.only("static_position_embeddings", true);
    for (const char* key : {"normalize_before", "normalize_embedding", "add_final_layer_norm"}) c.only(key, false);
    ModelPlan plan{decoder(), std::string(sinusoids)};
    read_bart_sizes(c, false, plan.blueprint);
    c.only("decoder_vocab_size", static_cast<double>(plan.blueprint.vocab_size));
    return plan;
}

NameMap names(const ModelPlan&) {
    return bart_names();
}

} // namespace marian_file

const Architecture marian_architecture = {"marian",
                                          "Marian: encoder and decoder, post-norm LayerNorm, SiLU, biases",
                                          marian_file::make,
                                          marian_file::sinusoids,
                                          {{"marian"}, marian_file::plan_of_config, marian_file::names}};

} // namespace ordo
