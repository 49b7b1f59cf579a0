// SPDX-License-Identifier: MIT
// The safetensors format, by its own description. The file starts with 8 bytes, a little-endian length N. Then come N
// bytes of JSON, {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ..., "__metadata__": {"key":
// "value"}}. Then comes the data, to which the offsets [begin, end) are relative. Files are not trusted. Every size is
// checked before it is used, and memory is limited to a small multiple of the file's bytes.
#pragma once

#include "core/weight_type.h"
#include "io/atomic_file.h"
#include "io/file_bytes.h"

#include <map>
#include <optional>

namespace ordo {

// The limits of a file, far above the needs of an honest file.
struct SafetensorsLimits {
    std::size_t header_bytes = std::size_t{16} << 20;
    std::size_t tensors = 65'536;
    std::size_t metadata = 65'536; // entries
    std::size_t name_bytes = 256;  // of a tensor or of a metadata key
    std::size_t rank = 64;
};

struct TensorInfo {
    std::string name;
    std::string dtype; // defined by the format: "F32", "F16", "BF16", "I64", ...
    std::vector<std::int64_t> shape;
    std::uint64_t elements = 0; // the product of shape
    std::uint64_t offset = 0;   // of the data, from the start of the file
    std::uint64_t bytes = 0;
};

// "[2, 3]"
std::string shape_text(std::span<const std::int64_t> shape);

// An open file whose header has been checked in full against the file's size: the data of the tensors follow each other
// without overlap or gap, and end at the end of the file. Reading is const and may be done by many threads.
class Safetensors {
public:
    // Throws Error(io), or Error(model) if it is not a well-formed safetensors file.
    static Safetensors open(const std::filesystem::path& path, const SafetensorsLimits& limits = {});
    // The same for bytes in memory, which must outlive the object; where names them in messages.
    static Safetensors parse(std::span<const std::byte> bytes, std::string_view where,
                             const SafetensorsLimits& limits = {});

    const std::string& where() const { return source_.where(); } // the path, printable
    std::uint64_t size() const { return source_.size(); }        // of the file, in bytes
    const std::map<std::string, std::string, std::less<>>& metadata() const { return metadata_; }
    std::span<const TensorInfo> tensors() const { return tensors_; } // in the order of their data
    const TensorInfo* find(std::string_view name) const;             // nullptr if absent

    // The values of a tensor of dtype F32, F16 or BF16 as floats; out has tensor.elements of them.
    // Throws Error(model) for any other dtype, Error(io) if the file cannot be read any more.
    void read(const TensorInfo& tensor, std::span<float> out) const;
    // The same for out.size() values, from `first` on, on the calling thread alone.
    void read_part(const TensorInfo& tensor, std::size_t first, std::span<float> out) const;
    // Values worth a thread: those of a huge page, which the system clears at the first write.
    static constexpr std::size_t part = std::size_t{1} << 19;
    // The stored bytes; out has tensor.bytes of them.
    void read_raw(const TensorInfo& tensor, std::span<std::byte> out) const;
    // Reads any bytes of the file.
    void read_at(std::uint64_t offset, std::span<std::byte> out) const { source_.read(offset, out); }

private:
    Safetensors(FileBytes source, const SafetensorsLimits& limits);
    std::uint64_t header_length(const SafetensorsLimits& limits) const;

    FileBytes source_;
    std::map<std::string, std::string, std::less<>> metadata_;
    std::vector<TensorInfo> tensors_;
    std::vector<std::size_t> by_name_; // indices into tensors_
};

// ---- Writing --------------------------------------------------------------------------------

struct StoredTensor {
    std::string name;
    std::vector<std::int64_t> shape;
    WeightType type =
        WeightType::f32;           // q8_0, q4_0: rank 2 and whole blocks in a row, U8 [rows, row_bytes()] in the file
    std::span<const float> values; // as many as shape says
};

// Replaces a file, which stays unchanged if anything fails. The bytes depend only on the arguments, whatever the order
// of tensors: the widest elements first (F32, half precision, U8), then by name. Throws Error(io), and Error(failure)
// for anything that the file cannot hold. This is a name twice or too long, text that is not UTF-8, a shape that does
// not fit its values, or a finite value too large for half precision; in blocks also a value that is not finite or has
// no scale. check: see AtomicFile::commit().
void write_safetensors(const std::filesystem::path& path, std::vector<StoredTensor> tensors,
                       const std::map<std::string, std::string, std::less<>>& metadata, const FileCheck& check = {});

using ByteSink = std::function<void(std::span<const std::byte>)>;

// A tensor in a file, whose bytes are produced when it is written, so that one tensor at a time is in memory. content
// passes exactly `bytes` of them to the sink, in pieces.
struct RawTensor {
    std::string name;
    std::string dtype;
    std::vector<std::int64_t> shape;
    std::uint64_t bytes = 0;
    std::function<void(const ByteSink&)> content;
};
void write_raw_safetensors(const std::filesystem::path& path, std::vector<RawTensor> tensors,
                           const std::map<std::string, std::string, std::less<>>& metadata,
                           const FileCheck& check = {});
// The same file in memory. where names it in messages.
std::vector<std::byte> safetensors_bytes(std::vector<RawTensor> tensors,
                                         const std::map<std::string, std::string, std::less<>>& metadata,
                                         const std::string& where);

// A tensor of weights with its dtype, shape and bytes, and no content yet. where names the file.
RawTensor raw_tensor(std::string name, std::vector<std::int64_t> shape, WeightType type, const std::string& where);
// Passes the values, encoded in that type, to the sink in pieces. `what` names them in messages: "FILE: tensor 'NAME'".
void encode_values(WeightType type, std::span<const float> values, const std::string& what, const ByteSink& sink);

} // namespace ordo
