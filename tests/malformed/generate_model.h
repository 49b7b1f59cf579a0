// SPDX-License-Identifier: MIT
// The files of generate.h that start from a valid model.
#pragma once

#include "tests/malformed/files.h"

namespace ordo::test {

void add_model_files(std::vector<MalformedFile>& files);

// M7.
void add_large_files(std::vector<MalformedFile>& files);

} // namespace ordo::test
