// SPDX-License-Identifier: MIT
// Models without positional encoding whose hand-set weights count tokens and measure distances.
#pragma once

#include "model/model.h"

namespace ordo::lab {

inline constexpr Token counting_start = 0; // the token at the start; all others are alike

// One layer of attention. The logit of token 0 after t tokens is 1/t. All keys are equal, because W_k has ones in one
// column and zeros elsewhere; so attention is uniform. The value is 1 for the first token and 0 for others. Theorem 1
// of Kazemnejad et al. 2023 (arXiv 2305.19466, appendix C) starts from this.
Model counting_model(int context);
// One of its matrices, as printed in the paper: it multiplies a column vector.
struct HandSetMatrix {
    std::string name, meaning;
    std::vector<std::vector<double>> rows;
};
std::vector<HandSetMatrix> counting_matrices();

// Two layers without encoding. The second layer has the scores f_cnt(q, k) + f_rel(j - i) of theorem 2. The first layer
// counts as above, and its feed-forward network converts 1/t into t.
// The second layer's queries and keys add two terms: the difference of two counts times relative_slope, and products of
// random contents.
Model relative_model(int context, std::uint64_t seed);
// One layer of the same contents, with an encoding in place of the counts. With relative_encoding it answers as
// relative_model does; with "none" it has f_cnt alone.
Model content_model(int context, std::uint64_t seed, const std::string& encoding);
inline constexpr int relative_vocabulary = 8; // of both models; counting_start is the first token
inline constexpr float relative_slope = 0.125f;
inline constexpr const char* relative_encoding = "alibi:max=3"; // its one head has the slope 2^-3

// Does a model with random weights notice the order of the tokens before the last?
struct Permuted {
    double difference = 0; // the largest, between the logits after the last token
    double scale = 0;      // the largest logit
};
// Compares a sequence with the same sequence whose tokens before the last are permuted.
Permuted permute(const std::string& encoding, int layers, std::uint64_t seed);

} // namespace ordo::lab
