// SPDX-License-Identifier: MIT
// The directory of a zip archive (PKWARE's APPNOTE 6.3.10) with uncompressed entries, and with zip64 where sizes or
// counts need it. PyTorch writes its checkpoints in this form. Archives are not trusted: every size is checked before
// it is used.
#pragma once

#include "io/file_bytes.h"

#include <map>

namespace ordo {

// The limits of an archive, far above the needs of an honest checkpoint.
struct ZipLimits {
    std::size_t directory_bytes = std::size_t{64} << 20;
    std::size_t entries = std::size_t{1} << 18;
    std::size_t name_bytes = 1024;
};

struct ZipEntry {
    std::uint64_t offset = 0; // of the data, from the start of the archive
    std::uint64_t size = 0;
};

// The entries by name; each lies within the archive. Throws Error(model) for an archive that is malformed, split,
// encrypted or compressed.
std::map<std::string, ZipEntry, std::less<>> read_zip_directory(const FileBytes& archive, const ZipLimits& limits = {});

} // namespace ordo
