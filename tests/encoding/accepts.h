// SPDX-License-Identifier: MIT
#pragma once

#include "encoding/base/model_encodings.h"

#include <string>

namespace ordo {

// False for an encoding that refuses these dims, such as a bidirectional mask.
inline bool accepts(const std::string& spec, const Dims& dims) {
    try {
        return !ModelEncodings(spec, dims).spec().empty();
    } catch (const Error&) {
        return false;
    }
}
inline bool accepts(const std::string& spec, Dims dims, Mask mask) {
    dims.mask = mask;
    return accepts(spec, dims);
}

} // namespace ordo
