// SPDX-License-Identifier: MIT
// The fields of a message in Protocol Buffers' wire format: a key, field number * 8 + wire type, then the value. A
// number is seven bits a byte, the lowest first, with the eighth set in all bytes but the last. Nothing is copied, and
// nothing is trusted.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ordo {

struct ProtobufField {
    enum Type : unsigned { number = 0, eight_bytes = 1, bytes = 2, four_bytes = 5 };

    std::uint32_t id = 0;
    Type type = number;
    std::uint64_t value = 0; // of a number, and of four or eight bytes as they stand
    std::string_view text;   // of bytes: a string, or a message in the message

    float as_float() const; // of four bytes
};

// Goes through a message once.
class ProtobufReader {
public:
    ProtobufReader(std::string_view message, std::string_view where) : rest_(message), where_(where) {}

    // The next field; none at the end. Throws Error(model) for a message that ends within one, or a wire type that is
    // unknown.
    std::optional<ProtobufField> next();

private:
    std::uint64_t read_number();
    std::uint64_t read_bytes(unsigned count);

    std::string_view rest_, where_;
};

} // namespace ordo
