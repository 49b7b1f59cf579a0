// SPDX-License-Identifier: MIT
#include "encoding/base/registered.h"

namespace ordo {

const EncodingInfo none_encoding = {
    .name = "none",
    .summary = "adds nothing; only the causal mask tells the order",
    .paper = "Haviv et al. 2022, arXiv 2203.16634; Kazemnejad et al. 2023, arXiv 2305.19466",
    .formula = "score(i, j) = q_i . k_j * scale",
    .make = none_file::make,
};

namespace none_file {

struct None final : RegisteredEncoding {
    using RegisteredEncoding::RegisteredEncoding;
    std::vector<NamedTable> tables() const override { return {}; }
};

std::unique_ptr<RegisteredEncoding> make(const Dims& dims) {
    return make_registered<None>(dims);
}

} // namespace none_file
} // namespace ordo
