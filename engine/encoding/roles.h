// SPDX-License-Identifier: MIT
// Which rows an encoding rotates.
#pragma once

#include "ordo.h"

namespace ordo {

// What ROTATE takes for rows of a role says so, without tensors: those that it leaves alone take nothing.
inline bool rotates(const Encoding& encoding, Role role) {
    const Work rows = role == Role::query ? Work{.tokens = 1, .query_rows = 1} : Work{.tokens = 1, .key_rows = 1};
    return encoding.operations(moment_rotate, rows).sum() > 0;
}

} // namespace ordo
