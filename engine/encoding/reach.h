// SPDX-License-Identifier: MIT
#pragma once

#include "encoding/registry.h"

namespace ordo {

// For whoever hands an encoding positions without a Session, which checks them itself. Throws Error(limit),
// naming the encoding and both numbers, unless it has positions 0 .. tokens - 1.
void check_reach(const EncodingStack& encodings, std::int64_t tokens);

} // namespace ordo
