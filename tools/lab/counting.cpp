// SPDX-License-Identifier: MIT
#include "tools/lab/counting.h"

namespace ordo::lab {

Model counting_model(int context) {
    Blueprint b;
    b.vocab_size = 3;
    b.context = context;
    b.n_layers = b.n_heads = b.n_kv_heads = 1;
    b.d_model = 8;
    b.d_head = b.d_ff = 4;
    b.norm_eps = 1e-30f;
    b.final_norm = b.tied_head = false;
    TensorBlock tensors(model_tensors(b, {}));
    // Columns 0: always 2; 1: 2 for the first token, -2 for others. The mean square is 1: the norm changes nothing.
    const View embedding = tensors.view("embedding.weight");
    for (Token token = 0; token < b.vocab_size; ++token) {
        embedding.row(token)[0] = 2;
        embedding.row(token)[1] = token == counting_start ? 2 : -2;
    }
    for (const char* name : {"layers.0.attention_norm.weight", "layers.0.feed_forward_norm.weight"})
        for (int j = 0; j < b.d_model; ++j) tensors.view(name).row(0)[j] = 1;
    const View qkv = tensors.view("layers.0.attention.qkv.weight"); // 4 rows each of q, k and v
    for (int i = 0; i < b.d_head; ++i) {
        for (int j = 0; j < b.d_model; ++j) qkv.row(i)[j] = 0.5f; // queries may be anything
        qkv.row(b.d_head + i)[0] = 1;
    }
    const View value = rows_of(qkv, 2 * b.d_head, b.d_head);
    value.row(0)[0] = value.row(0)[1] = 0.25f;                   // (2 + 2) / 4 or (2 - 2) / 4
    tensors.view("layers.0.attention.out.weight").row(2)[0] = 1; // to column 2 of the stream
    tensors.view("head.weight").row(0)[2] = 1;
    return make_model("counting", b, {}, std::move(tensors), nullptr, {}, context);
}

} // namespace ordo::lab
