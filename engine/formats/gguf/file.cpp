// SPDX-License-Identifier: MIT
#include "formats/gguf/file.h"

#include "core/error.h"
#include "io/checked.h"

#include <algorithm>
#include <cmath>

namespace ordo {

Gguf Gguf::open(const std::filesystem::path& path, const GgufLimits& limits) {
    return {FileBytes(path), limits};
}

Gguf Gguf::parse(std::span<const std::byte> bytes, std::string_view where, const GgufLimits& limits) {
    return {FileBytes(bytes, where), limits};
}

void Gguf::read(const GgufTensor& tensor, std::uint64_t first, std::span<std::byte> out) const {
    if (!((Checked(first) + Checked(out.size())) <= Checked(tensor.bytes)))
        fail(ErrorCode::failure, where(), ": tensor '", printable(tensor.name), "': asked for ", out.size(),
             " bytes from ", first, " on, of ", tensor.bytes);
    read_at(tensor.offset + first, out);
}

const GgufTensor* Gguf::find(std::string_view name) const {
    const auto at = std::lower_bound(by_name_.begin(), by_name_.end(), name,
                                     [&](std::size_t i, std::string_view n) { return tensors_[i].name < n; });
    return at != by_name_.end() && tensors_[*at].name == name ? &tensors_[*at] : nullptr;
}

// ---- Metadata ---------------------------------------------------------------------------------

const GgufValue* Gguf::find_value(std::string_view key) const {
    const auto found = metadata_.find(key);
    return found == metadata_.end() ? nullptr : &found->second;
}

void Gguf::unexpected(std::string_view key, const std::string& expected, const GgufValue& found) const {
    fail(ErrorCode::model, where(), ": metadata '", key, "': expected ", expected, ", found ", found.describe());
}

std::optional<std::int64_t> Gguf::integer(std::string_view key, std::int64_t least, std::int64_t most) const {
    const GgufValue* value = find_value(key);
    if (!value) return std::nullopt;
    if (value->is_array() || !value->is_integer() || value->integer() < least || value->integer() > most)
        unexpected(key, "an integer from " + std::to_string(least) + " to " + std::to_string(most), *value);
    return value->integer();
}

std::optional<double> Gguf::number(std::string_view key) const {
    const GgufValue* value = find_value(key);
    if (!value) return std::nullopt;
    if (value->is_array() || !value->is_number() || !std::isfinite(value->number()))
        unexpected(key, "a finite number", *value);
    return value->number();
}

std::optional<bool> Gguf::truth(std::string_view key) const {
    const GgufValue* value = find_value(key);
    if (!value) return std::nullopt;
    if (value->is_array() || value->kind() != GgufKind::boolean) unexpected(key, "a bool", *value);
    return value->integer() != 0;
}

std::optional<std::string_view> Gguf::text(std::string_view key) const {
    const GgufValue* value = find_value(key);
    if (!value) return std::nullopt;
    if (value->is_array() || value->kind() != GgufKind::string) unexpected(key, "a string", *value);
    return value->text();
}

const GgufValue* Gguf::strings(std::string_view key) const {
    const GgufValue* value = find_value(key);
    if (value && (!value->is_array() || value->kind() != GgufKind::string))
        unexpected(key, "an array of strings", *value);
    return value;
}

const GgufValue* Gguf::numbers(std::string_view key) const {
    const GgufValue* value = find_value(key);
    if (!value) return nullptr;
    if (!value->is_array() || !value->is_number()) unexpected(key, "an array of numbers", *value);
    for (std::size_t i = 0; i < value->size(); ++i)
        if (!std::isfinite(value->number(i)))
            fail(ErrorCode::model, where(), ": metadata '", key, "': element ", i, ": expected a finite number, found ",
                 value->number(i));
    return value;
}

const GgufValue* Gguf::integers(std::string_view key) const {
    const GgufValue* value = find_value(key);
    if (value && (!value->is_array() || !value->is_integer())) unexpected(key, "an array of integers", *value);
    return value;
}

} // namespace ordo
