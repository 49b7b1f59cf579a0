// SPDX-License-Identifier: MIT
// SHA-256 (FIPS 180-4) in hexadecimal, by libmd.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace ordo {

// The digest of bytes that arrive in pieces.
class Sha256 {
public:
    Sha256();
    ~Sha256();
    void add(std::string_view bytes);
    std::string hexadecimal(); // of all added bytes; nothing can be added afterwards

private:
    struct Context;
    std::unique_ptr<Context> context_;
};

std::string sha256(std::string_view bytes);

} // namespace ordo
