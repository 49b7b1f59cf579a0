// SPDX-License-Identifier: MIT
// Building the one-line messages of ordo::Error.
#pragma once

#include "ordo.h"

#include <sstream>

namespace ordo {

// fail(ErrorCode::model, file, ": tensor ", name, ": expected ", a, ", found ", b)
template <class... Parts>
[[noreturn]] void fail(ErrorCode code, const Parts&... parts) {
    std::ostringstream text;
    text.imbue(std::locale::classic());
    (text << ... << parts);
    throw Error(code, text.str());
}

// Text from outside, made safe for a terminal: control bytes and bytes that are not UTF-8 become
// \xNN, and what is longer than limit bytes is cut with "...".
std::string printable(std::string_view text, std::size_t limit = 80);

} // namespace ordo
