// SPDX-License-Identifier: MIT
// The JSON of a safetensors file, read as events. A wrong header is refused at its first wrong value, and the stored
// header is no larger than the text.
#pragma once

#include "io/checked.h"
#include "io/json.h"
#include "io/safetensors.h"

namespace ordo {

// The bits of an element; 0 for a name that the format does not define.
int dtype_bits(std::string_view dtype);

class SafetensorsHeader final : public JsonEvents {
public:
    // data_bytes: the bytes of data in the file.
    SafetensorsHeader(std::string_view where, const SafetensorsLimits& limits, std::uint64_t data_bytes)
        : where_(where), limits_(limits), data_bytes_(data_bytes) {}

    void begin_object() override;
    void key(std::string&& name) override;
    void end_object() override;
    void begin_array() override;
    void end_array() override;
    void value(JsonValue&& scalar) override;

    std::vector<TensorInfo> tensors; // offsets relative to the data, each within it
    std::map<std::string, std::string, std::less<>> metadata;

private:
    enum class At { start, root, metadata, tensor, shape, offsets, end };

    std::string context() const;
    [[noreturn]] void unexpected(const std::string& expected, const std::string& found) const;
    [[noreturn]] void not_expected(const std::string& found) const;
    std::uint64_t unsigned_value(const JsonValue& scalar, std::uint64_t most) const;
    void root_key(std::string&& name);
    void begin_tensor();
    void end_tensor();

    std::string_view where_;
    const SafetensorsLimits& limits_;
    std::uint64_t data_bytes_;
    At at_ = At::start;
    std::string key_; // of root or metadata: the last key
    bool metadata_seen_ = false;
    std::string field_; // of a tensor: the last field
    bool dtype_seen_ = false, shape_seen_ = false, offsets_seen_ = false;
    TensorInfo tensor_;
    std::vector<std::uint64_t> offsets_;
};

struct SafetensorsContent {
    std::vector<TensorInfo> tensors;  // in the order of their data; offsets relative to the data
    std::vector<std::size_t> by_name; // indices into tensors
    std::map<std::string, std::string, std::less<>> metadata;
};
// Reads a header and checks it in full against the number of data bytes after it.
SafetensorsContent read_safetensors_header(std::string_view text, std::string_view where,
                                           const SafetensorsLimits& limits, std::uint64_t data_bytes);

} // namespace ordo
