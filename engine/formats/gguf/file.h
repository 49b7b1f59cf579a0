// SPDX-License-Identifier: MIT
// The GGUF format, version 3, as in ggml's documentation and reader, all little-endian. The file starts with "GGUF",
// u32 version, u64 tensors, u64 metadata entries. Each entry is a key, a type and a value. Each tensor is a name, u32
// rank, u64 sizes (the fastest axis first), u32 type, u64 offset. The data starts at the next multiple of
// general.alignment, and each tensor's data at such a multiple. A string is a u64 length and bytes. Files are not
// trusted. Every size is checked before it is used, and memory is limited to a small multiple of the file's bytes.
#pragma once

#include "core/weight_type.h"
#include "io/atomic_file.h"
#include "io/file_bytes.h"

#include <filesystem>
#include <map>
#include <optional>

namespace ordo {

inline constexpr std::uint32_t gguf_version = 3;

// The limits of a file, far above the needs of an honest file, and far below ggml's.
struct GgufLimits {
    std::size_t tensors = 65'536;
    std::size_t metadata = 65'536; // entries
    std::size_t key_bytes = 65'535;
    std::size_t string_bytes = std::size_t{64} << 20;
    std::size_t array = std::size_t{1} << 24; // elements
    std::size_t name_bytes = 63;              // of a tensor
    std::size_t rank = 4;
    std::size_t alignment = std::size_t{1} << 16;
};

enum class GgufKind : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };
std::string_view name_of(GgufKind kind);
// Bytes of one value; 0 for a string or an array.
std::size_t kind_bytes(GgufKind kind);

// A metadata value, or an array of them; a single value is an array of one.
class GgufValue {
public:
    GgufValue() = default;
    // In the file's form. ends: for strings, the end of each in bytes.
    GgufValue(GgufKind kind, bool is_array, std::string bytes, std::vector<std::uint64_t> ends = {});

    static GgufValue of(bool value);
    static GgufValue of(std::uint32_t value);
    static GgufValue of(std::int32_t value);
    static GgufValue of(float value);
    static GgufValue of(std::string_view value);
    static GgufValue of(const char* value) { return of(std::string_view(value)); }
    static GgufValue of(std::span<const std::string> values);
    static GgufValue of(std::span<const float> values);
    static GgufValue of(std::span<const std::int32_t> values);
    static GgufValue of_bytes(std::string_view values); // an array of u8

    GgufKind kind() const { return kind_; } // of the elements
    bool is_array() const { return array_; }
    bool is_integer() const;
    bool is_number() const { return is_integer() || kind_ == GgufKind::f32 || kind_ == GgufKind::f64; }
    std::size_t size() const;
    const std::string& bytes() const { return bytes_; }

    std::string_view text(std::size_t i = 0) const; // of a string
    // Of an integer or a bool. A value above 63 bits becomes the largest number.
    std::int64_t integer(std::size_t i = 0) const;
    double number(std::size_t i = 0) const;
    std::string describe() const; // "an array of string", "u32 5"

private:
    GgufKind kind_ = GgufKind::u8;
    bool array_ = false;
    std::string bytes_;
    std::vector<std::uint64_t> ends_;
};

struct GgufTensor {
    std::string name;
    std::vector<std::int64_t> shape; // the fastest axis last, as everywhere in Ordo
    std::string_view type_name;      // ggml's: "Q4_K"
    std::optional<WeightType> type;  // empty: a type of known size that Ordo does not support
    std::uint64_t elements = 0;      // the product of shape
    std::uint64_t offset = 0;        // of the data, from the start of the file
    std::uint64_t bytes = 0;
};

// An open file whose metadata and tensors have been checked in full against the file's size. The tensors' data are
// consecutive, each at the next multiple of the alignment, and end at the end of the file, apart from padding. Reading
// is const and may be done by many threads.
class Gguf {
public:
    using Metadata = std::map<std::string, GgufValue, std::less<>>;

    // Throws Error(io), or Error(model) if it is not a well-formed GGUF file.
    static Gguf open(const std::filesystem::path& path, const GgufLimits& limits = {});
    // The same for bytes in memory, which must outlive the object; where names them in messages.
    static Gguf parse(std::span<const std::byte> bytes, std::string_view where, const GgufLimits& limits = {});

    // Only checks the header before data_bytes of data.
    static void check_header(std::span<const std::byte> bytes, std::uint64_t data_bytes, std::string_view where);

    const std::string& where() const { return source_.where(); } // the path, printable
    std::uint64_t size() const { return source_.size(); }        // of the file, in bytes
    std::uint64_t alignment() const { return alignment_; }
    const Metadata& metadata() const { return metadata_; }
    std::span<const GgufTensor> tensors() const { return tensors_; } // in the order of their data
    const GgufTensor* find(std::string_view name) const;             // nullptr if absent

    // A metadata value; empty or nullptr if the key is missing. Throws Error(model), with the key, for a value of
    // another kind or out of range.
    std::optional<std::int64_t> integer(std::string_view key, std::int64_t least, std::int64_t most) const;
    std::optional<double> number(std::string_view key) const; // finite
    std::optional<bool> truth(std::string_view key) const;
    std::optional<std::string_view> text(std::string_view key) const;
    const GgufValue* strings(std::string_view key) const;  // an array
    const GgufValue* numbers(std::string_view key) const;  // an array of finite numbers
    const GgufValue* integers(std::string_view key) const; // an array

    // Reads bytes of a tensor from `first` on, as many as out has. Throws Error(io) if the file cannot be read any
    // more.
    void read(const GgufTensor& tensor, std::uint64_t first, std::span<std::byte> out) const;
    void read_at(std::uint64_t offset, std::span<std::byte> out) const { source_.read(offset, out); } // of the file

private:
    friend class GgufParser;
    Gguf(FileBytes source, const GgufLimits& limits, std::uint64_t data_bytes = 0);
    const GgufValue* find_value(std::string_view key) const;
    [[noreturn]] void unexpected(std::string_view key, const std::string& expected, const GgufValue& found) const;

    FileBytes source_;
    std::uint64_t alignment_ = 32;
    Metadata metadata_;
    std::vector<GgufTensor> tensors_;
    std::vector<std::size_t> by_name_; // indices into tensors_
};

// A type of ggml with its number in files. A block has 32 or 256 weights, or one.
struct GgmlType {
    std::uint32_t number;
    std::string_view name;
    std::uint64_t block, block_bytes;
    std::optional<WeightType> type;
};
const GgmlType* ggml_type(std::uint32_t number); // nullptr if it is unknown
const GgmlType& ggml_type(WeightType type);

// ---- Writing --------------------------------------------------------------------------------

// A tensor whose bytes are produced when it is written. content passes exactly row_bytes() of all rows to the sink.
struct GgufStored {
    std::string name;
    std::vector<std::int64_t> shape; // the fastest axis last
    WeightType type = WeightType::f32;
    std::function<void(const std::function<void(std::span<const std::byte>)>&)> content;
};

using GgufEntries = std::vector<std::pair<std::string, GgufValue>>;

// Replaces a file, which stays unchanged if anything fails. The bytes depend only on the arguments, and keep their
// order. Throws Error(io), and Error(failure) for content that the reader would refuse. check: see
// AtomicFile::commit().
void write_gguf(const std::filesystem::path& path, const GgufEntries& metadata, const std::vector<GgufStored>& tensors,
                const FileCheck& check = {});
// The same file in memory. where names it in messages.
std::vector<std::byte> gguf_bytes(const GgufEntries& metadata, const std::vector<GgufStored>& tensors,
                                  const std::string& where);

} // namespace ordo
