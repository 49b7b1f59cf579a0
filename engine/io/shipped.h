// SPDX-License-Identifier: MIT
// Where the shipped weights lie.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ordo {

// The folders to search, in this order: $ORDO_WEIGHTS; share/ordo/weights of the installation of the shared library and
// of the program; the weights/ of the program's build tree. Throws Error(io) for an $ORDO_WEIGHTS that is no folder.
std::vector<std::filesystem::path> weight_directories();
// The same, for messages.
std::string weight_directory_list();

} // namespace ordo
