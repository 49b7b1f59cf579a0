// SPDX-License-Identifier: MIT
#include "tools/sha256.h"

#include <sys/types.h>

#include <sha2.h>

namespace ordo {

std::string sha256(std::string_view bytes) {
    char text[SHA256_DIGEST_STRING_LENGTH] = {};
    SHA256Data(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size(), text);
    return text;
}

} // namespace ordo
