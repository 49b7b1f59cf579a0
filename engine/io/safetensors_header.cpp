// SPDX-License-Identifier: MIT
#include "io/safetensors_header.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

namespace ordo {
namespace {

constexpr std::string_view metadata_key = "__metadata__";

// Control characters in a name only serve to deceive a reader at a terminal.
bool has_control(std::string_view name) {
    return std::any_of(name.begin(), name.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte < 0x20 || byte == 0x7f;
    });
}

} // namespace

int dtype_bits(std::string_view dtype) {
    static constexpr std::pair<std::string_view, int> known[] = {
        {"F32", 32},        {"F16", 16},    {"BF16", 16},   {"F64", 64},    {"BOOL", 8},    {"U8", 8},
        {"I8", 8},          {"U16", 16},    {"I16", 16},    {"U32", 32},    {"I32", 32},    {"U64", 64},
        {"I64", 64},        {"C64", 64},    {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E5M2FNUZ", 8},
        {"F8_E4M3FNUZ", 8}, {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"F4", 4},
    };
    const auto* const at = std::find_if(std::begin(known), std::end(known), [&](auto& k) { return k.first == dtype; });
    return at == std::end(known) ? 0 : at->second;
}

// The current place in the header, for messages.
std::string SafetensorsHeader::context() const {
    std::string text(where_);
    if (at_ == At::start || at_ == At::end) return text + ": header";
    if (at_ == At::metadata) return text + ": metadata '" + printable(key_) + "'";
    if (at_ == At::root && metadata_seen_ && key_ == metadata_key) return text + ": '__metadata__'";
    text += ": tensor '" + printable(key_) + "'";
    return at_ == At::root ? text : text + ": '" + printable(field_) + "'";
}

void SafetensorsHeader::unexpected(const std::string& expected, const std::string& found) const {
    fail(ErrorCode::model, context(), ": expected ", expected, ", found ", found);
}

void SafetensorsHeader::not_expected(const std::string& found) const {
    switch (at_) {
    case At::start:
    case At::root:
        unexpected("an object", found);
    case At::metadata:
        unexpected("a string", found);
    case At::tensor:
        unexpected(field_ == "dtype" ? "a string" : "an array", found);
    default:
        unexpected("an integer", found);
    }
}

void SafetensorsHeader::begin_object() {
    if (at_ == At::start) {
        at_ = At::root;
    } else if (at_ == At::root) {
        if (key_ == metadata_key)
            at_ = At::metadata;
        else
            begin_tensor();
    } else {
        not_expected("an object");
    }
}

void SafetensorsHeader::root_key(std::string&& name) {
    key_ = std::move(name);
    if (key_ == metadata_key) {
        if (metadata_seen_) fail(ErrorCode::model, where_, ": '__metadata__' appears twice");
        metadata_seen_ = true;
        return;
    }
    if (tensors.size() == limits_.tensors) fail(ErrorCode::model, where_, ": more than ", limits_.tensors, " tensors");
    if (key_.size() > limits_.name_bytes)
        fail(ErrorCode::model, where_, ": tensor name of ", key_.size(), " bytes, allowed are ", limits_.name_bytes,
             ": '", printable(key_), "'");
    if (has_control(key_))
        fail(ErrorCode::model, where_, ": tensor name with a control character: '", printable(key_), "'");
}

void SafetensorsHeader::key(std::string&& name) {
    if (at_ == At::root) {
        root_key(std::move(name));
    } else if (at_ == At::metadata) {
        key_ = std::move(name);
        if (metadata.size() == limits_.metadata)
            fail(ErrorCode::model, where_, ": more than ", limits_.metadata, " metadata entries");
        if (key_.size() > limits_.name_bytes)
            fail(ErrorCode::model, where_, ": metadata key of ", key_.size(), " bytes, allowed are ",
                 limits_.name_bytes, ": '", printable(key_), "'");
    } else {
        field_ = std::move(name);
        bool* const seen = field_ == "dtype"          ? &dtype_seen_
                           : field_ == "shape"        ? &shape_seen_
                           : field_ == "data_offsets" ? &offsets_seen_
                                                      : nullptr;
        if (!seen) fail(ErrorCode::model, context(), " is unknown; expected dtype, shape and data_offsets");
        if (std::exchange(*seen, true)) fail(ErrorCode::model, context(), " appears twice");
    }
}

void SafetensorsHeader::end_object() {
    if (at_ == At::tensor) end_tensor();
    at_ = at_ == At::root ? At::end : At::root;
}

void SafetensorsHeader::begin_array() {
    if (at_ == At::tensor && field_ == "shape")
        at_ = At::shape;
    else if (at_ == At::tensor && field_ == "data_offsets")
        at_ = At::offsets;
    else
        not_expected("an array");
}

void SafetensorsHeader::end_array() {
    if (at_ == At::offsets && offsets_.size() != 2) unexpected("2 integers", std::to_string(offsets_.size()));
    at_ = At::tensor;
}

std::uint64_t SafetensorsHeader::unsigned_value(const JsonValue& scalar, std::uint64_t most) const {
    const std::uint64_t* number = scalar.unsigned_integer();
    if (!number || *number > most) unexpected("an integer from 0 to " + std::to_string(most), describe(scalar));
    return *number;
}

void SafetensorsHeader::value(JsonValue&& scalar) {
    constexpr auto most = std::uint64_t{std::numeric_limits<std::int64_t>::max()};
    if (at_ == At::shape) {
        if (tensor_.shape.size() == limits_.rank)
            unexpected("at most " + std::to_string(limits_.rank) + " dimensions", "more");
        tensor_.shape.push_back(static_cast<std::int64_t>(unsigned_value(scalar, most)));
    } else if (at_ == At::offsets) {
        if (offsets_.size() == 2) unexpected("2 integers", "more");
        offsets_.push_back(unsigned_value(scalar, std::numeric_limits<std::uint64_t>::max()));
    } else if (at_ == At::metadata && scalar.string()) {
        const auto [at, inserted] = metadata.emplace(key_, std::move(*scalar.string()));
        if (!inserted) fail(ErrorCode::model, context(), " appears twice");
    } else if (at_ == At::tensor && field_ == "dtype" && scalar.string()) {
        tensor_.dtype = std::move(*scalar.string());
        if (dtype_bits(tensor_.dtype) == 0)
            fail(ErrorCode::model, where_, ": tensor '", printable(key_), "': unknown dtype '",
                 printable(tensor_.dtype), "'");
    } else {
        not_expected(describe(scalar));
    }
}

void SafetensorsHeader::begin_tensor() {
    at_ = At::tensor;
    dtype_seen_ = shape_seen_ = offsets_seen_ = false;
    offsets_.clear();
    tensor_ = {};
}

void SafetensorsHeader::end_tensor() {
    const std::string tensor = std::string(where_) + ": tensor '" + printable(key_) + "'";
    if (!dtype_seen_) fail(ErrorCode::model, tensor, ": 'dtype' is missing");
    if (!shape_seen_) fail(ErrorCode::model, tensor, ": 'shape' is missing");
    if (!offsets_seen_) fail(ErrorCode::model, tensor, ": 'data_offsets' is missing");

    Checked elements(1);
    for (const std::int64_t dim : tensor_.shape) elements = elements * Checked(static_cast<std::uint64_t>(dim));
    const Checked bits = elements * Checked(static_cast<std::uint64_t>(dtype_bits(tensor_.dtype)));
    if (!bits.valid())
        fail(ErrorCode::model, tensor, ": the size of shape ", shape_text(tensor_.shape), " exceeds 64 bits");
    if (bits.value() % 8 != 0)
        fail(ErrorCode::model, tensor, ": shape ", shape_text(tensor_.shape), " of ", tensor_.dtype,
             " does not fill whole bytes");

    const Checked begin(offsets_[0]), end(offsets_[1]);
    if (!(begin <= end))
        fail(ErrorCode::model, tensor, ": data begins at ", begin.value(), " and ends before, at ", end.value());
    if (!(end <= Checked(data_bytes_)))
        fail(ErrorCode::model, tensor, ": data ends at ", end.value(), ", past the end of the file's ", data_bytes_,
             " bytes of data");
    const Checked bytes = end - begin;
    if (!(bytes == Checked(bits.value() / 8)))
        fail(ErrorCode::model, tensor, ": shape ", shape_text(tensor_.shape), " of ", tensor_.dtype, ": expected ",
             bits.value() / 8, " bytes of data, found ", bytes.value());

    tensor_.name = std::move(key_);
    tensor_.elements = elements.value();
    tensor_.offset = begin.value();
    tensor_.bytes = bytes.value();
    tensors.push_back(std::move(tensor_));
}

namespace {

// Sorting finds duplicates; no choice of names can slow it down.
std::vector<std::size_t> sort_by_name(const std::vector<TensorInfo>& tensors, std::string_view where) {
    std::vector<std::size_t> order(tensors.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return tensors[a].name < tensors[b].name; });
    const auto twice = std::adjacent_find(
        order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return tensors[a].name == tensors[b].name; });
    if (twice != order.end())
        fail(ErrorCode::model, where, ": tensor '", printable(tensors[*twice].name), "' appears twice");
    return order;
}

void check_layout(const std::vector<TensorInfo>& tensors, std::string_view where, std::uint64_t data_bytes) {
    Checked end(0);
    for (const TensorInfo& tensor : tensors) {
        const Checked begin(tensor.offset);
        if (!(begin == end))
            fail(ErrorCode::model, where, ": tensor '", printable(tensor.name), "': data begins at ", tensor.offset,
                 begin <= end ? ", inside that of another tensor, which ends at " : ", leaving a hole after ",
                 end.value());
        end = begin + Checked(tensor.bytes);
    }
    if (!(end == Checked(data_bytes)))
        fail(ErrorCode::model, where, ": the data of the tensors ends at ", end.value(), ", but the file holds ",
             data_bytes, " bytes of data");
}

} // namespace

SafetensorsContent read_safetensors_header(std::string_view text, std::string_view where,
                                           const SafetensorsLimits& limits, std::uint64_t data_bytes) {
    const JsonLimits json{limits.header_bytes, json_header_limits.depth};
    SafetensorsHeader header(where, limits, data_bytes);
    parse_json(text, where, json, header);
    SafetensorsContent content{std::move(header.tensors), {}, std::move(header.metadata)};
    std::sort(content.tensors.begin(), content.tensors.end(), [](const TensorInfo& a, const TensorInfo& b) {
        return std::tie(a.offset, a.bytes, a.name) < std::tie(b.offset, b.bytes, b.name);
    });
    content.by_name = sort_by_name(content.tensors, where);
    check_layout(content.tensors, where, data_bytes);
    return content;
}

} // namespace ordo
