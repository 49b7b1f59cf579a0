// SPDX-License-Identifier: MIT
// A state dictionary written by torch.save(): a zip archive. The pickle NAME/data.pkl names the tensors, and an entry
// NAME/data/KEY holds each storage, whose elements several tensors may share. Before PyTorch 1.6: pickles of a magic
// number, of a version, of the machine, of the dictionary and of a list of keys, then for each key the number of
// elements in 8 bytes and the elements, little-endian. Files are not trusted.
#pragma once

#include "io/safetensors.h"
#include "io/zip.h"

namespace ordo {

struct PytorchTensor : TensorInfo {         // offset and bytes of its elements in the file
    std::vector<std::int64_t> strides = {}; // of elements that are not contiguous; else empty
    std::uint64_t span = 0;                 // bytes from the first of such elements to the last; else 0
};

// Reading is const and may be done by many threads.
class PytorchFile {
public:
    // Throws Error(io), or Error(model) for a file that is malformed or has other values in the place of tensors.
    static PytorchFile open(const std::filesystem::path& path);
    // The same for bytes in memory, which must outlive the object; where names them in messages.
    static PytorchFile parse(std::span<const std::byte> bytes, std::string_view where);

    const std::string& where() const { return source_.where(); }        // the path, printable
    std::uint64_t size() const { return source_.size(); }               // of the file, in bytes
    std::span<const PytorchTensor> tensors() const { return tensors_; } // in the order of the dictionary
    // Reads any bytes of the file.
    void read_at(std::uint64_t offset, std::span<std::byte> out) const { source_.read(offset, out); }
    // The elements of a tensor with strides, in the order of its shape.
    std::vector<std::byte> gathered(const PytorchTensor& tensor) const;

private:
    explicit PytorchFile(FileBytes source);
    void read_archive();
    void read_old(std::size_t start);

    FileBytes source_;
    std::vector<PytorchTensor> tensors_;
};

} // namespace ordo
