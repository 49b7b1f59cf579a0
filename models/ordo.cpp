// SPDX-License-Identifier: MIT
// The architecture of Ordo's own weights: pre-norm RMSNorm, SwiGLU, no biases, tied head.
#include "models/catalog.h"

namespace ordo {
namespace ordo_file {

Blueprint make() {
    Blueprint b;
    b.architecture = "ordo";
    b.vocab_size = 4096;
    b.context = 256;
    b.n_layers = 5;
    b.d_model = 128;
    b.n_heads = 4;
    b.n_kv_heads = 4;
    b.d_head = 32;
    b.d_ff = 352;
    return b;
}

} // namespace ordo_file

const Architecture ordo_architecture = {
    "ordo", "pre-norm RMSNorm, SwiGLU, no biases, tied head: that of the shipped weights", ordo_file::make, "rope"};

} // namespace ordo
