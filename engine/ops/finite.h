// SPDX-License-Identifier: MIT
#pragma once

#include "rows.h"

namespace ordo {

// True if no value of x [n, d] is infinite or NaN. Call it outside a team.
bool all_finite(View x);

} // namespace ordo
