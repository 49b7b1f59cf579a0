// SPDX-License-Identifier: MIT
// Models without positional encoding whose weights are set by hand, so that they count and measure distances.
#pragma once

#include "model/model.h"

namespace ordo::lab {

inline constexpr Token counting_start = 0; // the token that stands first; all others are alike

// One layer of attention; the logit of token 0 after t tokens is 1/t. Attention is uniform because every key
// is the same, as W_k has ones in one column and zeros elsewhere; the value is 1 for the first token and 0 for
// others. Theorem 1 of Kazemnejad et al. 2023 (arXiv 2305.19466, appendix C) starts from this.
Model counting_model(int context);
// Its matrices as they stand in the paper: what multiplies a column vector.
struct HandSetMatrix {
    std::string name, meaning;
    std::vector<std::vector<double>> rows;
};
std::vector<HandSetMatrix> counting_matrices();

// Two layers without encoding, whose second has the scores f_cnt(q, k) + f_rel(j - i) of theorem 2: the first counts
// as above, its feed-forward turns 1/t into t, and the second's queries and keys bring the difference of two counts,
// times relative_slope, to products of random contents.
Model relative_model(int context, std::uint64_t seed);
// One layer of the same contents, with an encoding in the place of the counts. With relative_encoding it answers as the
// model above does, with "none" it has f_cnt alone.
Model content_model(int context, std::uint64_t seed, const std::string& encoding);
inline constexpr int relative_vocabulary = 8; // of both; counting_start stands first
inline constexpr float relative_slope = 0.125f;
inline constexpr const char* relative_encoding = "alibi:max=3"; // whose one head has the slope 2^-3

} // namespace ordo::lab
