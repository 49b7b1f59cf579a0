// SPDX-License-Identifier: MIT
#include "formats/source.h"

namespace ordo {

Source open_source(const std::filesystem::path& path) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) return hugging_face_source(path);
    return ordo_source(std::make_shared<const Safetensors>(Safetensors::open(path)));
}

} // namespace ordo
