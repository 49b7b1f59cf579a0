// SPDX-License-Identifier: MIT
#include "core/error.h"
#include "formats/source.h"
#include "model/model_file.h"

namespace ordo {

Source open_source(const std::filesystem::path& path) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) return hugging_face_source(path);
    auto file = std::make_shared<const Safetensors>(Safetensors::open(path));
    if (!file->metadata().contains(key_format) && std::filesystem::exists(directory_of(path) / "config.json", error))
        fail(ErrorCode::model, file->where(),
             ": expected an Ordo safetensors file, found one of a model in a directory; give ",
             printable_path(directory_of(path)));
    return ordo_source(std::move(file));
}

} // namespace ordo
