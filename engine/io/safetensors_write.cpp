// SPDX-License-Identifier: MIT
#include "core/utf8.h"
#include "io/atomic_file.h"
#include "io/half.h"
#include "io/safetensors_header.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace ordo {
namespace {

std::string_view dtype_name(StoredType type) {
    return type == StoredType::f32 ? "F32" : type == StoredType::f16 ? "F16" : "BF16";
}

std::uint64_t element_bytes(StoredType type) {
    return type == StoredType::f32 ? 4 : 2;
}

std::string quoted(const std::string& text, const std::string& where) {
    if (!utf8_valid(text)) fail(ErrorCode::failure, where, ": text to store is not UTF-8: '", printable(text), "'");
    return Json(text).dump();
}

void check_tensor(const StoredTensor& tensor, const std::string& where) {
    Checked elements(1);
    for (const std::int64_t dim : tensor.shape) {
        if (dim < 0)
            fail(ErrorCode::failure, where, ": tensor '", printable(tensor.name), "': shape ",
                 shape_text(tensor.shape));
        elements = elements * Checked(static_cast<std::uint64_t>(dim));
    }
    if (!(elements == Checked(tensor.values.size())))
        fail(ErrorCode::failure, where, ": tensor '", printable(tensor.name), "': shape ", shape_text(tensor.shape),
             " does not fit ", tensor.values.size(), " values");
}

std::string header_text(const std::vector<StoredTensor>& tensors,
                        const std::map<std::string, std::string, std::less<>>& metadata, const std::string& where) {
    std::string text = "{";
    if (!metadata.empty()) {
        text += "\"__metadata__\":{";
        for (const auto& [key, value] : metadata)
            text += (text.back() == '{' ? "" : ",") + quoted(key, where) + ":" + quoted(value, where);
        text += "}";
    }
    Checked begin(0);
    for (const StoredTensor& tensor : tensors) {
        const Checked end = begin + Checked(tensor.values.size()) * Checked(element_bytes(tensor.type));
        text += (text == "{" ? "" : ",") + quoted(tensor.name, where) + ":{\"dtype\":\"";
        text += dtype_name(tensor.type);
        text += "\",\"shape\":" + Json(tensor.shape).dump();
        text += ",\"data_offsets\":[" + std::to_string(begin.value()) + "," + std::to_string(end.value()) + "]}";
        begin = end;
    }
    text += "}";
    text.resize((text.size() + 7) / 8 * 8, ' '); // the data starts at a multiple of 8
    return text;
}

// What the reader would refuse is not written.
void check_header(const std::string& header, const std::vector<StoredTensor>& tensors, const std::string& where) {
    Checked data_bytes(0);
    for (const StoredTensor& tensor : tensors)
        data_bytes = data_bytes + Checked(tensor.values.size()) * Checked(element_bytes(tensor.type));
    try {
        read_safetensors_header(header, where, {}, data_bytes.value());
    } catch (const Error& error) {
        throw Error(ErrorCode::failure, error.what());
    }
}

void write_halves(AtomicFile& file, const StoredTensor& tensor, const std::string& where) {
    const auto convert = tensor.type == StoredType::f16 ? f16_from_float : bf16_from_float;
    const std::uint16_t infinity = tensor.type == StoredType::f16 ? 0x7c00 : 0x7f80;
    std::vector<std::uint16_t> halves;
    for (std::size_t done = 0; done < tensor.values.size(); done += halves.size()) {
        const auto part = tensor.values.subspan(done, std::min<std::size_t>(tensor.values.size() - done, 32'768));
        halves.resize(part.size());
        for (std::size_t i = 0; i < part.size(); ++i) {
            halves[i] = convert(part[i]);
            if ((halves[i] & 0x7fff) == infinity && std::isfinite(part[i]))
                fail(ErrorCode::failure, where, ": tensor '", printable(tensor.name), "': ", part[i], " does not fit ",
                     dtype_name(tensor.type));
        }
        file.write(std::as_bytes(std::span(halves)));
    }
}

} // namespace

void write_safetensors(const std::filesystem::path& path, std::vector<StoredTensor> tensors,
                       const std::map<std::string, std::string, std::less<>>& metadata) {
    const std::string where = printable_path(path);
    std::sort(tensors.begin(), tensors.end(), [](const StoredTensor& a, const StoredTensor& b) {
        const bool a_half = a.type != StoredType::f32, b_half = b.type != StoredType::f32;
        return std::tie(a_half, a.name) < std::tie(b_half, b.name);
    });
    for (const StoredTensor& tensor : tensors) check_tensor(tensor, where);
    const std::string header = header_text(tensors, metadata, where);

    check_header(header, tensors, where);

    AtomicFile file(path);
    const std::uint64_t length = header.size();
    file.write(std::as_bytes(std::span(&length, 1)));
    file.write(header);
    for (const StoredTensor& tensor : tensors) {
        if (tensor.type == StoredType::f32)
            file.write(std::as_bytes(tensor.values));
        else
            write_halves(file, tensor, where);
    }
    file.commit();
}

} // namespace ordo
