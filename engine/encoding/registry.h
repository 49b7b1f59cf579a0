// SPDX-License-Identifier: MIT
// The registry and the stack, which moved to base/: for changes that were written against the old place.
#pragma once

#include "encoding/base/registry.h"
#include "encoding/base/stack.h"
