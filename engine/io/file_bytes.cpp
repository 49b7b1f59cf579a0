// SPDX-License-Identifier: MIT
#include "io/file_bytes.h"

#include "core/error.h"
#include "io/checked.h"

#include <cstring>

namespace ordo {

FileBytes::FileBytes(const std::filesystem::path& path)
    : file_(std::in_place, path), where_(file_->where()), size_(file_->size()) {}

FileBytes::FileBytes(std::span<const std::byte> bytes, std::string_view where)
    : bytes_(bytes), where_(where), size_(bytes.size()) {}

void FileBytes::read(std::uint64_t offset, std::span<std::byte> out) const {
    if (!((Checked(offset) + Checked(out.size())) <= Checked(size_)))
        fail(ErrorCode::failure, where_, ": reading past the end of the file");
    if (file_)
        file_->read(offset, out);
    else if (!out.empty())
        std::memcpy(out.data(), bytes_.data() + offset, out.size());
}

} // namespace ordo
