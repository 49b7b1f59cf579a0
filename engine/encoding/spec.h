// SPDX-License-Identifier: MIT
// Specs, which moved to base/: for changes that were written against the old place.
#pragma once

#include "encoding/base/spec.h"
