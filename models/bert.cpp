// SPDX-License-Identifier: MIT
// The trunk of BERT base (Devlin et al. 2018, arXiv 1810.04805), without the layers of its tasks.
#include "models/catalog.h"

namespace ordo {
namespace {

Blueprint make() {
    Blueprint b;
    b.architecture = "bert";
    b.vocab_size = 30522;
    b.context = 512;
    b.n_layers = 12;
    b.d_model = 768;
    b.n_heads = 12;
    b.n_kv_heads = 12;
    b.d_head = 64;
    b.d_ff = 3072;
    b.norm = Norm::layer;
    b.norm_bias = true;
    b.norm_eps = 1e-12f;
    b.norm_place = NormPlace::post;
    b.activation = Activation::gelu;
    b.gated = false;
    b.attention_bias(true);
    b.ffn_bias = true;
    b.embedding_norm = true;
    b.final_norm = false; // every block ends with one
    b.mask = Mask::bidirectional;
    return b;
}

} // namespace

const Architecture bert_architecture = {
    "bert", "BERT: bidirectional, post-norm LayerNorm, norm after the embedding, GELU", make, "segment+learned"};

} // namespace ordo
