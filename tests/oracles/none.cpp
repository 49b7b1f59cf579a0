// SPDX-License-Identifier: MIT
// No encoding (NoPE: Haviv et al. 2022, arXiv 2203.16634; Kazemnejad et al. 2023, arXiv 2305.19466).
#include "tests/oracle.h"

namespace ordo::reference {
namespace {

const Registration none("none", [](const Item&, const Setting&) { return std::make_unique<Oracle>(); });

} // namespace
} // namespace ordo::reference
