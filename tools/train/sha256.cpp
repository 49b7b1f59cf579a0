// SPDX-License-Identifier: MIT
#include "tools/train/sha256.h"

#include <cstdint>

#include <sys/types.h>

#include <sha2.h>

namespace ordo {

struct Sha256::Context {
    SHA2_CTX sum;
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
    SHA256Init(&context_->sum);
}

Sha256::~Sha256() = default;

void Sha256::add(std::string_view bytes) {
    SHA256Update(&context_->sum, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

std::string Sha256::hexadecimal() {
    char text[SHA256_DIGEST_STRING_LENGTH] = {};
    SHA256End(&context_->sum, text);
    return text;
}

std::string sha256(std::string_view bytes) {
    Sha256 sum;
    sum.add(bytes);
    return sum.hexadecimal();
}

} // namespace ordo
