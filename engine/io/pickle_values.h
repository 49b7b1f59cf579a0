// SPDX-License-Identifier: MIT
// The values that the reader of pickles builds.
#pragma once

#include "core/error.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace ordo::pickle {

using Ref = std::uint32_t; // of a value

enum class Kind { mark, none, boolean, integer, fraction, text, tuple, list, dictionary, name, storage, tensor };

inline constexpr std::string_view kind_names[] = {"a mark",       "None",   "a boolean", "a whole number",
                                                  "a fraction",   "a text", "a tuple",   "a list",
                                                  "a dictionary", "a name", "a storage", "a tensor"};

struct Value {
    Kind kind;
    std::int64_t number = 0;    // integer, boolean; storage: its elements; name: its index in allowed
    std::string_view text = {}; // text; storage: its key
    // tuple, list; dictionary: alternating keys and values; tensor: storage, offset, shape, strides
    std::vector<Ref> items = {};
};

inline std::string described(const Value& value) {
    std::string text(kind_names[static_cast<std::size_t>(value.kind)]);
    if (value.kind == Kind::text) text += " '" + printable(value.text) + "'";
    return text;
}

enum class NameRole { dictionary, tensor, parameter, storage };

struct Name {
    std::string_view module, name;
    NameRole role;
    std::string_view dtype = {};
};

// The names that a pickle may contain.
inline constexpr Name allowed[] = {
    {"collections", "OrderedDict", NameRole::dictionary},
    {"torch._utils", "_rebuild_tensor_v2", NameRole::tensor},
    {"torch._utils", "_rebuild_tensor", NameRole::tensor}, // before PyTorch 0.4
    {"torch._utils", "_rebuild_parameter", NameRole::parameter},
    {"torch", "FloatStorage", NameRole::storage, "F32"},
    {"torch", "HalfStorage", NameRole::storage, "F16"},
    {"torch", "BFloat16Storage", NameRole::storage, "BF16"},
    {"torch", "DoubleStorage", NameRole::storage, "F64"},
    {"torch", "LongStorage", NameRole::storage, "I64"},
    {"torch", "IntStorage", NameRole::storage, "I32"},
    {"torch", "ShortStorage", NameRole::storage, "I16"},
    {"torch", "CharStorage", NameRole::storage, "I8"},
    {"torch", "ByteStorage", NameRole::storage, "U8"},
    {"torch", "BoolStorage", NameRole::storage, "BOOL"},
};

} // namespace ordo::pickle
