// SPDX-License-Identifier: MIT
// The fields of a message in Protocol Buffers' wire format: a key, field number * 8 + wire type, then the value. A
// number has seven bits in each byte, the lowest first. The eighth bit is set in all bytes but the last. Nothing is
// copied, and input is not trusted.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ordo {

struct ProtobufField {
    enum Type : unsigned { number = 0, eight_bytes = 1, bytes = 2, four_bytes = 5 };

    std::uint32_t id = 0;
    Type type = number;
    std::uint64_t value = 0; // of a number, or the raw four or eight bytes
    std::string_view text;   // of bytes: a string, or a nested message

    float as_float() const; // of four bytes
};

// Goes through a message once.
class ProtobufReader {
public:
    ProtobufReader(std::string_view message, std::string_view where) : rest_(message), where_(where) {}

    // The next field; empty at the end. Throws Error(model) for a truncated field or an unknown wire type.
    std::optional<ProtobufField> next();

private:
    std::uint64_t read_number();
    std::uint64_t read_bytes(unsigned count);

    std::string_view rest_, where_;
};

} // namespace ordo
