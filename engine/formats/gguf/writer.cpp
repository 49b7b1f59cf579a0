// SPDX-License-Identifier: MIT
#include "core/error.h"
#include "formats/gguf/file.h"
#include "io/atomic_file.h"
#include "io/checked.h"

#include <cstring>

namespace ordo {
namespace {

using Sink = std::function<void(std::span<const std::byte>)>;

constexpr std::uint64_t alignment = 32; // the default without metadata

template <class T>
void put(std::string& out, T value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    out.append(bytes, sizeof value);
}

void put_string(std::string& out, std::string_view text) {
    put<std::uint64_t>(out, text.size());
    out += text;
}

void put_entry(std::string& out, const std::string& key, const GgufValue& value) {
    put_string(out, key);
    if (value.is_array()) {
        put(out, static_cast<std::uint32_t>(GgufKind::array));
        put(out, static_cast<std::uint32_t>(value.kind()));
        put<std::uint64_t>(out, value.size());
    } else {
        put(out, static_cast<std::uint32_t>(value.kind()));
    }
    if (value.kind() != GgufKind::string) {
        out += value.bytes();
        return;
    }
    for (std::size_t i = 0; i < value.size(); ++i) put_string(out, value.text(i));
}

std::uint64_t bytes_of(const GgufStored& tensor) {
    Checked rows(1);
    for (std::size_t i = 0; i + 1 < tensor.shape.size(); ++i)
        rows = rows * Checked(static_cast<std::uint64_t>(tensor.shape[i]));
    const std::uint64_t row = tensor.shape.empty() ? 0 : row_bytes(tensor.type, tensor.shape.back());
    return (rows * Checked(row)).value();
}

std::string filling(std::uint64_t n) {
    return std::string(static_cast<std::size_t>((alignment - n % alignment) % alignment), '\0');
}

// All bytes before the data, padding included.
std::string header(const GgufEntries& metadata, const std::vector<GgufStored>& tensors) {
    std::string out = "GGUF";
    put(out, gguf_version);
    put<std::uint64_t>(out, tensors.size());
    put<std::uint64_t>(out, metadata.size());
    for (const auto& [key, value] : metadata) put_entry(out, key, value);
    std::uint64_t offset = 0;
    for (const GgufStored& tensor : tensors) {
        put_string(out, tensor.name);
        put(out, static_cast<std::uint32_t>(tensor.shape.size()));
        for (std::size_t i = tensor.shape.size(); i-- > 0;) put(out, tensor.shape[i]);
        put(out, ggml_type(tensor.type).number);
        put(out, offset);
        offset += bytes_of(tensor);
        offset += filling(offset).size();
    }
    return out + filling(out.size());
}

// Checks the header with the reader, for a file of the final size, so that every written file can be read.
void check(const std::string& head, std::uint64_t data, const std::string& where) {
    try {
        Gguf::check_header(std::as_bytes(std::span(head)), data, where);
    } catch (const Error& error) {
        throw Error(ErrorCode::failure, error.what());
    }
}

// Passes the file to the sink in pieces.
void write_to(const Sink& sink, const GgufEntries& metadata, const std::vector<GgufStored>& tensors,
              const std::string& where) {
    const std::string head = header(metadata, tensors);
    std::uint64_t data = 0;
    for (const GgufStored& tensor : tensors) data += bytes_of(tensor) + filling(bytes_of(tensor)).size();
    check(head, data, where);
    sink(std::as_bytes(std::span(head)));
    for (const GgufStored& tensor : tensors) {
        std::uint64_t written = 0;
        tensor.content([&](std::span<const std::byte> bytes) {
            written += bytes.size();
            sink(bytes);
        });
        if (written != bytes_of(tensor))
            fail(ErrorCode::failure, where, ": tensor '", printable(tensor.name), "': expected ", bytes_of(tensor),
                 " bytes, found ", written);
        const std::string zeros = filling(written);
        sink(std::as_bytes(std::span(zeros)));
    }
}

} // namespace

void write_gguf(const std::filesystem::path& path, const GgufEntries& metadata, const std::vector<GgufStored>& tensors,
                const FileCheck& check) {
    std::optional<AtomicFile> file; // created after the header has been checked
    write_to(
        [&](std::span<const std::byte> bytes) {
            if (!file) file.emplace(path);
            file->write(bytes);
        },
        metadata, tensors, printable_path(path));
    file->commit(check);
}

std::vector<std::byte> gguf_bytes(const GgufEntries& metadata, const std::vector<GgufStored>& tensors,
                                  const std::string& where) {
    std::vector<std::byte> all;
    write_to([&](std::span<const std::byte> bytes) { all.insert(all.end(), bytes.begin(), bytes.end()); }, metadata,
             tensors, where);
    return all;
}

} // namespace ordo
