// SPDX-License-Identifier: MIT
#pragma once

#include "tools/train/train.h"

namespace ordo::train {

// Finds before the first step what would lose a file, or the work of a run at its end. Throws
// Error(usage) if a file to write is also one to read or to write otherwise, or a checkpoint or log that
// exists would be replaced without a word of the caller's; Error(io) if one to read is not there or one to
// write cannot be written.
void check_files(const Options& options);

} // namespace ordo::train
