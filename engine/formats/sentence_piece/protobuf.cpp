// SPDX-License-Identifier: MIT
#include "formats/sentence_piece/protobuf.h"

#include "core/error.h"

#include <bit>

namespace ordo {

float ProtobufField::as_float() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(value));
}

std::uint64_t ProtobufReader::read_number() {
    std::uint64_t number = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
        const auto byte = static_cast<unsigned char>(rest_.front());
        rest_.remove_prefix(1);
        number |= static_cast<std::uint64_t>(byte & 127) << shift; // bits above 64 are dropped, as in other readers
        if (byte < 128) return number;
    }
    fail(ErrorCode::model, where_, ": expected a number of at most ten bytes, found ",
         rest_.empty() ? "the end of the message" : "a longer one");
}

// Little-endian.
std::uint64_t ProtobufReader::read_bytes(unsigned count) {
    if (rest_.size() < count)
        fail(ErrorCode::model, where_, ": expected ", count, " bytes, found the end of the message after ",
             rest_.size());
    std::uint64_t value = 0;
    for (unsigned i = 0; i < count; ++i)
        value |= static_cast<std::uint64_t>(static_cast<unsigned char>(rest_[i])) << (8 * i);
    rest_.remove_prefix(count);
    return value;
}

std::optional<ProtobufField> ProtobufReader::next() {
    if (rest_.empty()) return std::nullopt;
    const std::uint64_t key = read_number(), id = key >> 3;
    if (id == 0 || id >= std::uint64_t{1} << 29)
        fail(ErrorCode::model, where_, ": expected a field from 1 to 536870911, found ", id);
    ProtobufField field;
    field.id = static_cast<std::uint32_t>(id);
    field.type = static_cast<ProtobufField::Type>(key & 7);
    switch (key & 7) {
    case ProtobufField::number:
        field.value = read_number();
        break;
    case ProtobufField::eight_bytes:
        field.value = read_bytes(8);
        break;
    case ProtobufField::four_bytes:
        field.value = read_bytes(4);
        break;
    case ProtobufField::bytes: {
        const std::uint64_t length = read_number();
        if (length > rest_.size())
            fail(ErrorCode::model, where_, ": field ", id, ": expected ", length,
                 " bytes, found the end of the message after ", rest_.size());
        field.text = rest_.substr(0, length);
        rest_.remove_prefix(length);
        break;
    }
    default:
        fail(ErrorCode::model, where_, ": field ", id, ": expected the wire type 0, 1, 2 or 5, found ", key & 7);
    }
    return field;
}

} // namespace ordo
