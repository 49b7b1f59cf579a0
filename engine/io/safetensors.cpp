// SPDX-License-Identifier: MIT
#include "io/safetensors.h"

#include "core/parallel.h"
#include "io/file_kind.h"
#include "io/half.h"
#include "io/safetensors_header.h"

#include <algorithm>
#include <cstring>

static_assert(std::endian::native == std::endian::little, "safetensors data is little-endian");

namespace ordo {
namespace {

// The format of a file by its first bytes, if users may mistake it for weights.
std::string other_format(std::string_view start, bool whole) {
    if (const FileKind* kind = binary_kind(start)) return kind->text();
    std::string text(text_kind(start, whole));
    if (text == "JSON")
        text += "; of a model in a directory, with its config.json and tokenizer.json, give the directory";
    return text;
}

} // namespace

std::string shape_text(std::span<const std::int64_t> shape) {
    std::string text = "[";
    for (const std::int64_t dim : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(dim);
    return text + "]";
}

Safetensors Safetensors::open(const std::filesystem::path& path, const SafetensorsLimits& limits) {
    return {FileBytes(path), limits};
}

Safetensors Safetensors::parse(std::span<const std::byte> bytes, std::string_view where,
                               const SafetensorsLimits& limits) {
    return {FileBytes(bytes, where), limits};
}

// Checks the length N and the byte after it, and returns N.
std::uint64_t Safetensors::header_length(const SafetensorsLimits& limits) const {
    if (size() == 0) fail(ErrorCode::model, where(), ": the file is empty");
    char start[file_kind_bytes] = {};
    const std::size_t n = std::min<std::uint64_t>(size(), sizeof start);
    read_at(0, std::as_writable_bytes(std::span(start, n)));

    std::uint64_t length = 0;
    std::memcpy(&length, start, sizeof length);
    const bool plausible =
        size() > 8 && length != 0 && length <= size() - 8 && length <= limits.header_bytes && start[8] == '{';
    if (plausible) return length;

    if (const std::string other = other_format({start, n}, n == size()); !other.empty())
        fail(ErrorCode::model, where(), ": expected a safetensors file, found ", other);
    if (size() < 8) fail(ErrorCode::model, where(), ": file of ", size(), " bytes, too short for a safetensors header");
    if (length == 0) fail(ErrorCode::model, where(), ": header length is 0");
    if (length > size() - 8)
        fail(ErrorCode::model, where(), ": header length is ", length, ", but only ", size() - 8, " bytes follow");
    if (length > limits.header_bytes)
        fail(ErrorCode::model, where(), ": header length is ", length, ", allowed are ", limits.header_bytes);
    fail(ErrorCode::model, where(), ": expected '{' at byte 8, found '", printable({start + 8, 1}), "'");
}

Safetensors::Safetensors(FileBytes source, const SafetensorsLimits& limits) : source_(std::move(source)) {
    const std::uint64_t length = header_length(limits);
    const std::uint64_t data_begin = (Checked(8) + Checked(length)).value();
    std::string text(static_cast<std::size_t>(length), '\0');
    read_at(8, std::as_writable_bytes(std::span(text)));
    SafetensorsContent content = read_safetensors_header(text, where(), limits, size() - data_begin);
    tensors_ = std::move(content.tensors);
    by_name_ = std::move(content.by_name);
    metadata_ = std::move(content.metadata);
    for (TensorInfo& tensor : tensors_) tensor.offset = (Checked(tensor.offset) + Checked(data_begin)).value();
}

const TensorInfo* Safetensors::find(std::string_view name) const {
    const auto at = std::lower_bound(by_name_.begin(), by_name_.end(), name,
                                     [&](std::size_t i, std::string_view n) { return tensors_[i].name < n; });
    return at != by_name_.end() && tensors_[*at].name == name ? &tensors_[*at] : nullptr;
}

void Safetensors::read_raw(const TensorInfo& tensor, std::span<std::byte> out) const {
    if (out.size() != tensor.bytes)
        fail(ErrorCode::failure, where(), ": tensor '", printable(tensor.name), "': asked for ", out.size(),
             " bytes of ", tensor.bytes);
    read_at(tensor.offset, out);
}

// Threads share the reading: the system first clears memory that has not been touched yet, which takes longer than the
// copy.
void Safetensors::read(const TensorInfo& tensor, std::span<float> out) const {
    if (out.size() != tensor.elements)
        fail(ErrorCode::failure, where(), ": tensor '", printable(tensor.name), "': asked for ", out.size(),
             " values of ", tensor.elements);
    parallel_for_throwing(static_cast<std::ptrdiff_t>((out.size() + part - 1) / part), [&](std::ptrdiff_t i) {
        const std::size_t first = static_cast<std::size_t>(i) * part;
        read_part(tensor, first, out.subspan(first, std::min(part, out.size() - first)));
    });
}

void Safetensors::read_part(const TensorInfo& tensor, std::size_t first, std::span<float> out) const {
    if (!((Checked(first) + Checked(out.size())) <= Checked(tensor.elements)))
        fail(ErrorCode::failure, where(), ": tensor '", printable(tensor.name), "': asked for ", out.size(),
             " values from ", first, " on, of ", tensor.elements);
    if (tensor.dtype != "F32" && tensor.dtype != "F16" && tensor.dtype != "BF16")
        fail(ErrorCode::model, where(), ": tensor '", printable(tensor.name),
             "': expected dtype F32, F16 or BF16, found ", tensor.dtype);
    if (tensor.dtype == "F32") return read_at(tensor.offset + 4 * first, std::as_writable_bytes(out));
    const bool f16 = tensor.dtype == "F16";
    std::vector<std::uint16_t> halves(std::min<std::size_t>(out.size(), 32'768));
    for (std::size_t done = 0; done < out.size();) {
        const std::size_t n = std::min(out.size() - done, halves.size());
        const std::span in(halves.data(), n);
        read_at(tensor.offset + 2 * (first + done), std::as_writable_bytes(in));
        float* const to = out.data() + done;
        if (f16)
            for (std::size_t i = 0; i < n; ++i) to[i] = f16_to_float(in[i]);
        else
            for (std::size_t i = 0; i < n; ++i) to[i] = bf16_to_float(in[i]);
        done += n;
    }
}

} // namespace ordo
