// SPDX-License-Identifier: MIT
#include "io/base_name.h"

#include <system_error>

namespace ordo {

std::string base_name(const std::filesystem::path& path) {
    std::error_code error;
    std::filesystem::path whole = path;
    if (!path.has_filename() || path.filename() == "." || path.filename() == "..") {
        whole = std::filesystem::absolute(path, error).lexically_normal();
        if (!whole.has_filename()) whole = whole.parent_path();
    }
    return whole.has_filename() ? whole.filename().string() : path.string(); // the root has no name
}

} // namespace ordo
