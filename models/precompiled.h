// SPDX-License-Identifier: MIT
// Parsed once for all model families (tools/make/precompiled.mk).
#include "core/precompiled.h"

#include "models/catalog.h"
