// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace ordo {

// SHA-256 (FIPS 180-4) in hexadecimal, by libmd.
std::string sha256(std::string_view bytes);

} // namespace ordo
