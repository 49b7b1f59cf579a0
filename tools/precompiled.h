// SPDX-License-Identifier: MIT
// Parsed once for all files of tools and bench (tools/make/precompiled.mk).
#include "core/precompiled.h"

#include "tools/cli/options.h"
#include "tools/terminal/output.h"
