// SPDX-License-Identifier: MIT
// Models without positional encoding whose hand-set weights count tokens and measure distances.
#pragma once

#include "model/model_access.h"

namespace ordo::lab {

inline constexpr Token counting_start = 0; // the token at the start; all others are alike

inline constexpr int counting_vocabulary = 4;

// Theorem 1 of Kazemnejad et al. 2023 (arXiv 2305.19466, appendix C): one layer. After t tokens, the logit of token 0
// is 1/t, from attention, and that of token 1 is t, from the feed-forward network.
Model counting_model(int context);

// Theorem 2: the same layer, and a second one with the scores f_cnt(q, k) + f_rel(j - i). Its queries and keys add two
// terms: the difference of two counts times relative_slope, and products of contents, which are random signs.
Model relative_model(int context, std::uint64_t seed);
// Its matrices, as in the paper: each multiplies a column vector.
struct HandSetMatrix {
    int theorem;
    std::string name, meaning;
    std::vector<std::vector<double>> rows;
};
std::vector<HandSetMatrix> hand_set_matrices(int context, std::uint64_t seed);
// One layer of the same contents, with an encoding in place of the counts. With relative_encoding it answers as
// relative_model does; with "none" it has f_cnt alone.
Model content_model(int context, std::uint64_t seed, const std::string& encoding);
inline constexpr float relative_slope = 0.125f;
inline constexpr const char* relative_encoding = "alibi:max=3"; // its one head has the slope 2^-3

} // namespace ordo::lab
