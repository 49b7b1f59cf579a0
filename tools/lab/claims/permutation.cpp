// SPDX-License-Identifier: MIT
#include "tools/lab/claims/permutation.h"

#include "model/model.h"
#include "tools/lab/math/numbers.h"

namespace ordo::lab {

Permuted permute(const std::string& encoding, int layers, std::uint64_t seed) {
    constexpr int length = 24;
    Blueprint b;
    b.vocab_size = 97;
    b.context = length;
    b.n_layers = layers;
    b.d_model = 64;
    b.n_heads = b.n_kv_heads = 4;
    b.d_head = 16;
    b.d_ff = 128;
    const Model model = random_model(b, encoding, seed);
    const Random random(seed, 0xba6);
    std::vector<Token> tokens, permuted;
    for (std::uint64_t i = 0; i < length; ++i) tokens.push_back(static_cast<Token>(random.below(i, 97)));
    permuted = tokens;
    shuffle(std::span(permuted).first(length - 1), random, 1000); // the last token stays
    Session one(model), other(model);
    const auto a = one.feed(tokens), b_logits = other.feed(permuted);
    const std::vector<float> zeros(a.size());
    return {largest_difference(a, b_logits), largest_difference(a, zeros)};
}

} // namespace ordo::lab
