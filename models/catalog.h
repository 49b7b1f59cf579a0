// SPDX-License-Identifier: MIT
// Every architecture of list.def by name. architectures() in formats/architecture.h lists them.
#pragma once

#include "formats/config_values.h"
#include "formats/gguf/keys.h"

// The lines of BERT's embedding and layers, under the class's prefix: BERT_NAMES("roberta.").
#define BERT_NAMES(prefix)                                                                                             \
    {"embedding", prefix "embeddings.word_embeddings"},                                                                \
        {"encoding.segment", prefix "embeddings.token_type_embeddings"},                                               \
        {"encoding.learned", prefix "embeddings.position_embeddings"},                                                 \
        {"embedding_norm", prefix "embeddings.LayerNorm"},                                                             \
        {"layers.#.attention.q", prefix "encoder.layer.#.attention.self.query"},                                       \
        {"layers.#.attention.k", prefix "encoder.layer.#.attention.self.key"},                                         \
        {"layers.#.attention.v", prefix "encoder.layer.#.attention.self.value"},                                       \
        {"layers.#.attention.out", prefix "encoder.layer.#.attention.output.dense"},                                   \
        {"layers.#.attention_norm", prefix "encoder.layer.#.attention.output.LayerNorm"},                              \
        {"layers.#.feed_forward.in", prefix "encoder.layer.#.intermediate.dense"},                                     \
        {"layers.#.feed_forward.out", prefix "encoder.layer.#.output.dense"}, {                                        \
        "layers.#.feed_forward_norm", prefix "encoder.layer.#.output.LayerNorm"                                        \
    }

namespace ordo {

#define ARCHITECTURE(name) extern const Architecture name##_architecture;
#include "models/list.def"
#undef ARCHITECTURE

} // namespace ordo
