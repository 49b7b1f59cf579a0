// SPDX-License-Identifier: MIT
// Any bytes as a PyTorch file, and as the pickle in a PyTorch file. The result is an Error(model) of one line, or
// tensors that can all be read.
#include "io/pytorch.h"
#include "tests/io/zip_bytes.h"

#include <cstdlib>

namespace {

using namespace ordo;

void require(bool holds) {
    if (!holds) std::abort();
}

void try_file(std::span<const std::byte> bytes) {
    try {
        const PytorchFile file = PytorchFile::parse(bytes, "fuzz");
        for (const PytorchTensor& tensor : file.tensors()) {
            require(tensor.offset + tensor.bytes <= bytes.size());
            std::vector<std::byte> values(tensor.bytes);
            file.read_at(tensor.offset, values);
            if (!tensor.strides.empty()) require(file.gathered(tensor).size() == tensor.bytes);
        }
    } catch (const Error& error) {
        const std::string_view text = error.what();
        require(error.code == ErrorCode::model && text.size() < 1000 && text.find('\n') == text.npos);
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try_file(std::as_bytes(std::span(data, size)));
    const std::string pickle(reinterpret_cast<const char*>(data), size);
    const std::string archive = test::zip_of({{"m/data.pkl", pickle}, {"m/data/0", std::string(64, '\1')}});
    try_file(std::as_bytes(std::span(archive)));
    return 0;
}
