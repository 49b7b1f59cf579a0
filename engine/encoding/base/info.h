// SPDX-License-Identifier: MIT
// The description of an encoding, which its file defines.
#pragma once

#include "encoding.h"

namespace ordo {

class RegisteredEncoding;

// engine/encoding/NAME.cpp begins with `const EncodingInfo NAME_encoding`, which is its head comment, and ends with
// NAME_file::make.
struct EncodingInfo {
    std::string_view name;                                              // as in a spec
    std::string_view summary;                                           // one line
    std::string_view paper;                                             // "Vaswani et al. 2017, arXiv 1706.03762"
    std::string_view formula;                                           // one or more lines
    std::unique_ptr<RegisteredEncoding> (*make)(const Dims&) = nullptr; // with its default parameters
};

} // namespace ordo
