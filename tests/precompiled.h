// SPDX-License-Identifier: MIT
// Parsed once for all tests (tools/make/precompiled.mk).
#include "core/precompiled.h"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
