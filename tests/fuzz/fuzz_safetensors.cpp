// SPDX-License-Identifier: MIT
// Any bytes as a safetensors file. The result is an Error(model) of one line, or a file that can be read completely.
#include "io/safetensors.h"

#include <algorithm>
#include <cstdlib>

namespace {

using namespace ordo;

void require(bool holds) {
    if (!holds) std::abort();
}

void read_everything(const Safetensors& file, std::size_t size) {
    std::uint64_t total = 0;
    for (const TensorInfo& tensor : file.tensors()) {
        require(tensor.offset + tensor.bytes <= size);
        require(file.find(tensor.name) == &tensor);
        total += tensor.bytes;
        std::vector<std::byte> raw(tensor.bytes);
        file.read_raw(tensor, raw);
        if (tensor.dtype != "F32" && tensor.dtype != "F16" && tensor.dtype != "BF16") continue;
        std::vector<float> values(tensor.elements);
        file.read(tensor, values);
    }
    require(total < size);
}

void try_file(std::span<const std::byte> bytes) {
    try {
        read_everything(Safetensors::parse(bytes, "fuzz"), bytes.size());
    } catch (const Error& error) {
        const std::string_view text = error.what();
        require(error.code == ErrorCode::model && text.size() < 1000 && text.find('\n') == text.npos);
    }
}

// The largest number in the text, so that a header gets as much data as it claims.
std::size_t largest_number(std::string_view text) {
    std::size_t largest = 0, number = 0;
    for (const char c : text) {
        number = c >= '0' && c <= '9' && number < 100'000 ? number * 10 + static_cast<std::size_t>(c - '0') : 0;
        largest = std::max(largest, number);
    }
    return std::min<std::size_t>(largest, 65'536);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try_file(std::as_bytes(std::span(data, size)));
    // Then the same bytes as a header with a valid length and data. Random bytes would rarely get past the first eight.
    if (size < 8) return 0;
    const std::string_view header(reinterpret_cast<const char*>(data) + 8, size - 8);
    std::vector<std::byte> bytes(size + largest_number(header));
    const std::uint64_t length = header.size();
    std::copy_n(reinterpret_cast<const std::byte*>(&length), 8, bytes.begin());
    std::copy_n(reinterpret_cast<const std::byte*>(header.data()), header.size(), bytes.begin() + 8);
    try_file(bytes);
    return 0;
}
