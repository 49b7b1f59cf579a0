// SPDX-License-Identifier: MIT
#include "encoding/reach.h"

#include "core/error.h"

namespace ordo {

void check_reach(const EncodingStack& encodings, std::int64_t tokens) {
    for (const auto& item : encodings.items())
        if (tokens > item->max_position())
            fail(ErrorCode::limit, "encoding ", item->spec(), ": expected positions for ", tokens, " tokens, found ",
                 item->max_position());
}

} // namespace ordo
