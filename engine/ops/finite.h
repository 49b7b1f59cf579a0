// SPDX-License-Identifier: MIT
#pragma once

#include "ordo.h"

namespace ordo {

// True if no value of x [n, d] is infinite or NaN. Not to be called from within a team.
bool all_finite(View x);

} // namespace ordo
