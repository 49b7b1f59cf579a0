// SPDX-License-Identifier: MIT
// Parsed once for all tests (tools/make/precompiled.mk).
#include "core/precompiled.h"

#include "encoding/base/registry.h"
#include "encoding/base/stack.h"
#include "model/model.h"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
