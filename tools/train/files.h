// SPDX-License-Identifier: MIT
#pragma once

#include "tools/train/log.h"
#include "tools/train/train.h"

namespace ordo::train {

// Finds before the first step what would lose a file, or the work of a run at its end. Throws
// Error(usage) if a file to write is also one to read or to write otherwise, or a checkpoint or log that
// exists would be replaced without a word of the caller's; Error(io) if one to read is not there, one to
// write cannot be written, or one to replace was written by something else.
void check_files(const Options& options);

// The log, to go on after its first `keep` bytes; without a file if none is asked for. By now the run has opened all
// that it reads, also in folders: throws Error(usage) if a file to write is one of these, and what Log throws.
Log open_log(const Options& options, std::int64_t keep);

} // namespace ordo::train
