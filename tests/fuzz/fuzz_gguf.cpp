// SPDX-License-Identifier: MIT
// Any bytes as a GGUF file. The result is an Error(model) of one line or a file that can be read completely. The target
// also reads its model and text.
#include "formats/gguf/file.h"
#include "formats/source.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace {

using namespace ordo;

void require(bool holds) {
    if (!holds) std::abort();
}

void read_everything(const Gguf& file, std::size_t size) {
    std::uint64_t total = 0;
    for (const GgufTensor& tensor : file.tensors()) {
        require(tensor.offset + tensor.bytes <= size);
        require(file.find(tensor.name) == &tensor);
        total += tensor.bytes;
        std::vector<std::byte> raw(tensor.bytes);
        file.read(tensor, 0, raw);
    }
    require(total < size);
    for (const auto& [key, value] : file.metadata()) {
        require(!key.empty() && !value.describe().empty());
        for (std::size_t i = 0; i < value.size(); ++i)
            if (value.kind() == GgufKind::string)
                require(value.text(i).size() < size);
            else
                value.number(i);
    }
}

// The tables of an encoding may exceed the memory. Loading the model would report that.
void read_model(const std::shared_ptr<const Gguf>& file) {
    try {
        const Source source = gguf_source(file);
        if (source.text) source.text();
        source.trained_encodings();
    } catch (const Error& error) {
        const std::string_view text = error.what();
        require(text.size() < 2000 && text.find('\n') == text.npos);
    } catch (const std::bad_alloc&) {
    }
}

void try_file(std::span<const std::byte> bytes) {
    try {
        const auto file = std::make_shared<const Gguf>(Gguf::parse(bytes, "fuzz"));
        read_everything(*file, bytes.size());
        read_model(file);
    } catch (const Error& error) {
        const std::string_view text = error.what();
        require(error.code == ErrorCode::model && text.size() < 1000 && text.find('\n') == text.npos);
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try_file(std::as_bytes(std::span(data, size)));
    // Then the same bytes after a valid start with up to 15 tensors and as many entries.
    if (size < 2) return 0;
    std::vector<std::byte> bytes(24 + size - 1);
    std::memcpy(bytes.data(), "GGUF\3", 5);
    bytes[8] = static_cast<std::byte>(data[0] & 15);
    bytes[16] = static_cast<std::byte>(data[0] >> 4);
    std::memcpy(bytes.data() + 24, data + 1, size - 1);
    try_file(bytes);
    return 0;
}
