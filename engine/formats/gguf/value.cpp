// SPDX-License-Identifier: MIT
#include "core/error.h"
#include "formats/gguf/file.h"

#include <bit>
#include <cstring>
#include <limits>

static_assert(std::endian::native == std::endian::little, "GGUF is little-endian");

namespace ordo {
namespace {

template <class T>
std::string raw(const T& value) {
    std::string bytes(sizeof value, '\0');
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
}

template <class T>
std::string raw_all(std::span<const T> values) {
    std::string bytes(values.size_bytes(), '\0');
    if (!values.empty()) std::memcpy(bytes.data(), values.data(), values.size_bytes());
    return bytes;
}

template <class T>
T at(const std::string& bytes, std::size_t i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
    return value;
}

} // namespace

GgufValue::GgufValue(GgufKind kind, bool is_array, std::string bytes, std::vector<std::uint64_t> ends)
    : kind_(kind), array_(is_array), bytes_(std::move(bytes)), ends_(std::move(ends)) {}

GgufValue GgufValue::of(bool value) {
    return {GgufKind::boolean, false, std::string(1, value ? '\1' : '\0')};
}
GgufValue GgufValue::of(std::uint32_t value) {
    return {GgufKind::u32, false, raw(value)};
}
GgufValue GgufValue::of(std::int32_t value) {
    return {GgufKind::i32, false, raw(value)};
}
GgufValue GgufValue::of(float value) {
    return {GgufKind::f32, false, raw(value)};
}
GgufValue GgufValue::of(std::string_view value) {
    return {GgufKind::string, false, std::string(value), {value.size()}};
}
GgufValue GgufValue::of(std::span<const std::string> values) {
    std::string bytes;
    std::vector<std::uint64_t> ends;
    for (const std::string& value : values) ends.push_back((bytes += value).size());
    return {GgufKind::string, true, std::move(bytes), std::move(ends)};
}
GgufValue GgufValue::of(std::span<const float> values) {
    return {GgufKind::f32, true, raw_all(values)};
}
GgufValue GgufValue::of(std::span<const std::int32_t> values) {
    return {GgufKind::i32, true, raw_all(values)};
}

GgufValue GgufValue::of_bytes(std::string_view values) {
    return {GgufKind::u8, true, std::string(values)};
}

bool GgufValue::is_integer() const {
    return kind_ != GgufKind::f32 && kind_ != GgufKind::f64 && kind_ != GgufKind::boolean && kind_ != GgufKind::string;
}

std::size_t GgufValue::size() const {
    return kind_ == GgufKind::string ? ends_.size() : bytes_.size() / kind_bytes(kind_);
}

std::string_view GgufValue::text(std::size_t i) const {
    const std::uint64_t begin = i == 0 ? 0 : ends_.at(i - 1);
    return std::string_view(bytes_).substr(begin, ends_.at(i) - begin);
}

std::int64_t GgufValue::integer(std::size_t i) const {
    if (i >= size()) fail(ErrorCode::failure, "GGUF: element ", i, " of ", size());
    switch (kind_) {
    case GgufKind::u8:
    case GgufKind::boolean:
        return at<std::uint8_t>(bytes_, i);
    case GgufKind::i8:
        return at<std::int8_t>(bytes_, i);
    case GgufKind::u16:
        return at<std::uint16_t>(bytes_, i);
    case GgufKind::i16:
        return at<std::int16_t>(bytes_, i);
    case GgufKind::u32:
        return at<std::uint32_t>(bytes_, i);
    case GgufKind::i32:
        return at<std::int32_t>(bytes_, i);
    case GgufKind::i64:
        return at<std::int64_t>(bytes_, i);
    case GgufKind::u64: {
        constexpr auto most = std::numeric_limits<std::int64_t>::max();
        const auto value = at<std::uint64_t>(bytes_, i);
        return value > static_cast<std::uint64_t>(most) ? most : static_cast<std::int64_t>(value);
    }
    default:
        fail(ErrorCode::failure, "GGUF: ", name_of(kind_), " is no integer");
    }
}

double GgufValue::number(std::size_t i) const {
    if (i >= size()) fail(ErrorCode::failure, "GGUF: element ", i, " of ", size());
    if (kind_ == GgufKind::f32) return static_cast<double>(at<float>(bytes_, i));
    if (kind_ == GgufKind::f64) return at<double>(bytes_, i);
    return static_cast<double>(integer(i));
}

std::string GgufValue::describe() const {
    if (array_) return "an array of " + std::to_string(size()) + " " + std::string(name_of(kind_));
    if (kind_ == GgufKind::string) return "the string '" + printable(text()) + "'";
    if (kind_ == GgufKind::boolean) return integer() != 0 ? "true" : "false";
    if (is_integer()) return std::string(name_of(kind_)) + " " + std::to_string(integer());
    return joined(name_of(kind_), ' ', number());
}

} // namespace ordo
