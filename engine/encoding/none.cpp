// SPDX-License-Identifier: MIT
// No encoding: a causal model can still learn order from the number of tokens that it sees.
//   x = x,  q = q,  k = k,  score = q.k * scale
// Haviv et al. 2022, arXiv 2203.16634; Kazemnejad et al. 2023, arXiv 2305.19466 (NoPE).
#include "encoding/base/registered.h"

namespace ordo {
namespace none_file {
namespace {

struct None final : RegisteredEncoding {
    using RegisteredEncoding::RegisteredEncoding;
    std::vector<NamedTable> tables() const override { return {}; }
};

} // namespace
} // namespace none_file

const EncodingInfo none_encoding = {
    .name = "none",
    .summary = "adds nothing; only the causal mask tells the order",
    .paper = "Haviv et al. 2022, arXiv 2203.16634; Kazemnejad et al. 2023, arXiv 2305.19466",
    .formula = "score(i, j) = q_i . k_j * scale",
    .make = make_registered<none_file::None>,
};

} // namespace ordo
