// SPDX-License-Identifier: MIT
#include "core/utf8.h"
#include "io/atomic_file.h"
#include "io/blocks.h"
#include "io/half.h"
#include "io/json_writer.h"
#include "io/safetensors_header.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ordo {
namespace {

using Metadata = std::map<std::string, std::string, std::less<>>;

constexpr std::size_t piece = 32'768; // values encoded at once: whole blocks

std::string_view dtype_name(WeightType type) {
    switch (type) {
    case WeightType::f32:
        return "F32";
    case WeightType::f16:
        return "F16";
    case WeightType::bf16:
        return "BF16";
    default:
        return "U8";
    }
}

std::string quoted(const std::string& text, const std::string& where) {
    if (!utf8_valid(text)) fail(ErrorCode::failure, where, ": text to store is not UTF-8: '", printable(text), "'");
    return json_quoted(text);
}

std::string shape_json(std::span<const std::int64_t> shape) {
    JsonWriter writer;
    writer.value(shape);
    return writer.take();
}

std::string name_in(const std::string& where, const std::string& tensor) {
    return where + ": tensor '" + printable(tensor) + "'";
}

std::uint64_t elements_of(std::span<const std::int64_t> shape, const std::string& what) {
    Checked elements(1);
    for (const std::int64_t dim : shape) {
        if (dim < 0) fail(ErrorCode::failure, what, ": shape ", shape_text(shape));
        elements = elements * Checked(static_cast<std::uint64_t>(dim));
    }
    if (!elements.valid()) fail(ErrorCode::failure, what, ": shape ", shape_text(shape), " is too large");
    return elements.value();
}

std::string header_text(const std::vector<RawTensor>& tensors, const Metadata& metadata, const std::string& where) {
    std::string text = "{";
    if (!metadata.empty()) {
        text += "\"__metadata__\":{";
        for (const auto& [key, value] : metadata)
            text += (text.back() == '{' ? "" : ",") + quoted(key, where) + ":" + quoted(value, where);
        text += "}";
    }
    Checked begin(0);
    for (const RawTensor& tensor : tensors) {
        const Checked end = begin + Checked(tensor.bytes);
        text += (text == "{" ? "" : ",") + quoted(tensor.name, where) + ":{\"dtype\":" + quoted(tensor.dtype, where);
        text += ",\"shape\":" + shape_json(tensor.shape);
        text += ",\"data_offsets\":[" + std::to_string(begin.value()) + "," + std::to_string(end.value()) + "]}";
        begin = end;
    }
    text += "}";
    text.resize((text.size() + 7) / 8 * 8, ' '); // the data starts at a multiple of 8
    // Checks the header with the reader, so that every written file can be read.
    try {
        read_safetensors_header(text, where, {}, begin.value());
    } catch (const Error& error) {
        throw Error(ErrorCode::failure, error.what());
    }
    return text;
}

// Passes the file to the sink in pieces.
void write_to(const ByteSink& sink, std::vector<RawTensor>& tensors, const Metadata& metadata,
              const std::string& where) {
    // The widest first, so that each tensor is aligned to its elements.
    std::sort(tensors.begin(), tensors.end(), [](const RawTensor& a, const RawTensor& b) {
        const int a_bits = dtype_bits(a.dtype), b_bits = dtype_bits(b.dtype);
        return a_bits != b_bits ? a_bits > b_bits : a.name < b.name;
    });
    const std::string header = header_text(tensors, metadata, where);
    const std::uint64_t length = header.size();
    sink(std::as_bytes(std::span(&length, 1)));
    sink(std::as_bytes(std::span(header)));
    for (const RawTensor& tensor : tensors) {
        std::uint64_t written = 0;
        tensor.content([&](std::span<const std::byte> bytes) {
            written += bytes.size();
            sink(bytes);
        });
        if (written != tensor.bytes)
            fail(ErrorCode::failure, name_in(where, tensor.name), ": expected ", tensor.bytes, " bytes, found ",
                 written);
    }
}

void encode_halves(WeightType type, std::span<const float> values, const std::string& what, std::span<std::byte> out) {
    const auto convert = type == WeightType::f16 ? f16_from_float : bf16_from_float;
    const std::uint16_t infinity = type == WeightType::f16 ? 0x7c00 : 0x7f80;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const std::uint16_t half = convert(values[i]);
        if ((half & 0x7fff) == infinity && std::isfinite(values[i]))
            fail(ErrorCode::failure, what, ": ", values[i], " does not fit ", name_of(type));
        std::memcpy(out.data() + 2 * i, &half, sizeof half);
    }
}

void encode_blocks(WeightType type, std::span<const float> values, const std::string& what, std::span<std::byte> out) {
    const auto bad = std::find_if(values.begin(), values.end(), [](float v) { return !std::isfinite(v); });
    if (bad != values.end()) fail(ErrorCode::failure, what, ": ", *bad, " does not fit ", name_of(type));
    if (!write_blocks(type, values, out))
        fail(ErrorCode::failure, what, ": has weights that do not fit ", name_of(type));
}

} // namespace

void encode_values(WeightType type, std::span<const float> values, const std::string& what, const ByteSink& sink) {
    if (type == WeightType::f32) return sink(std::as_bytes(values));
    std::vector<std::byte> bytes;
    while (!values.empty()) {
        const auto part = values.first(std::min(values.size(), piece));
        bytes.resize(row_bytes(type, static_cast<std::int64_t>(part.size())));
        if (quantised(type))
            encode_blocks(type, part, what, bytes);
        else
            encode_halves(type, part, what, bytes);
        sink(bytes);
        values = values.subspan(part.size());
    }
}

RawTensor raw_tensor(std::string name, std::vector<std::int64_t> shape, WeightType type, const std::string& where) {
    const std::string what = name_in(where, name);
    const auto elements = static_cast<std::int64_t>(elements_of(shape, what));
    if (quantised(type) && (shape.size() != 2 || shape[1] % quant_block != 0))
        fail(ErrorCode::failure, what, ": expected rows of a multiple of ", quant_block, " for ", name_of(type),
             ", found ", shape_text(shape));
    const std::uint64_t bytes = row_bytes(type, elements);
    if (quantised(type)) shape[1] = static_cast<std::int64_t>(row_bytes(type, shape[1]));
    return {std::move(name), std::string(dtype_name(type)), std::move(shape), bytes, {}};
}

void write_raw_safetensors(const std::filesystem::path& path, std::vector<RawTensor> tensors, const Metadata& metadata,
                           const FileCheck& check) {
    std::optional<AtomicFile> file; // created after the header has been checked
    write_to(
        [&](std::span<const std::byte> bytes) {
            if (!file) file.emplace(path);
            file->write(bytes);
        },
        tensors, metadata, printable_path(path));
    file->commit(check);
}

std::vector<std::byte> safetensors_bytes(std::vector<RawTensor> tensors, const Metadata& metadata,
                                         const std::string& where) {
    std::vector<std::byte> all;
    std::uint64_t data = 0;
    for (const RawTensor& tensor : tensors) data += tensor.bytes;
    all.reserve(static_cast<std::size_t>(data) + (std::size_t{1} << 20)); // growing would take twice the memory
    write_to([&](std::span<const std::byte> bytes) { all.insert(all.end(), bytes.begin(), bytes.end()); }, tensors,
             metadata, where);
    return all;
}

void write_safetensors(const std::filesystem::path& path, std::vector<StoredTensor> tensors, const Metadata& metadata,
                       const FileCheck& check) {
    const std::string where = printable_path(path);
    std::vector<RawTensor> raw;
    for (StoredTensor& tensor : tensors) {
        const std::string what = name_in(where, tensor.name);
        if (elements_of(tensor.shape, what) != tensor.values.size())
            fail(ErrorCode::failure, what, ": shape ", shape_text(tensor.shape), " does not fit ", tensor.values.size(),
                 " values");
        raw.push_back(raw_tensor(std::move(tensor.name), std::move(tensor.shape), tensor.type, where));
        raw.back().content = [what, type = tensor.type, values = tensor.values](const ByteSink& sink) {
            encode_values(type, values, what, sink);
        };
    }
    write_raw_safetensors(path, std::move(raw), metadata, check);
}

} // namespace ordo
