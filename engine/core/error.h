// SPDX-License-Identifier: MIT
// Builds the one-line messages of ordo::Error.
#pragma once

#include "core/number.h"
#include "rows.h"

namespace ordo {

// fail(ErrorCode::model, file, ": tensor ", name, ": expected ", a, ", found ", b). Throws std::bad_alloc if there is
// no memory for the message; a stream would truncate it instead.
template <class... Parts>
[[noreturn]] void fail(ErrorCode code, const Parts&... parts) {
    throw Error(code, joined(parts...));
}
template <class... Parts>
[[noreturn]] void fail(ErrorReason reason, ErrorCode code, const Parts&... parts) {
    throw Error(code, joined(parts...), reason);
}

// Text from outside, made safe for a terminal. Control bytes and bytes that are not UTF-8 become \xNN. Text longer than
// limit bytes is cut with "...".
std::string printable(std::string_view text, std::size_t limit = 80);

} // namespace ordo
