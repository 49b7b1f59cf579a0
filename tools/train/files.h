// SPDX-License-Identifier: MIT
#pragma once

#include "tools/train/log.h"
#include "tools/train/train.h"

namespace ordo::train {

// Finds problems before the first step that would lose a file, or the work of a run at its end. Throws Error(usage) if
// an output file is also an input or another output, or if an existing checkpoint or log would be replaced without the
// caller's permission. Throws Error(io) if an input is missing, an output cannot be written, or a file to replace is
// not from a run.
void check_files(const Options& options);

// Opens the log to continue after its first `keep` bytes; without a file if the options name none. By now the run has
// opened all its inputs, even those inside folders. Throws Error(usage) if an output file is one of these inputs, and
// the errors of Log.
Log open_log(const Options& options, std::int64_t keep);

} // namespace ordo::train
