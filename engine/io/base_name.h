// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>

namespace ordo {

// The last named part of a path: "gpt2" for "models/gpt2/" and "models/gpt2/.".
std::string base_name(const std::filesystem::path& path);

} // namespace ordo
