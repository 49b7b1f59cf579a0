// SPDX-License-Identifier: MIT
#pragma once

#include <functional>

namespace ordo {

// Runs what needs 25 kB of stack: on a thread of its own if this one has little left, such as one of 96 KiB. It must
// not throw. Throws std::bad_alloc if there is no other thread.
void with_stack(const std::function<void()>& run);

} // namespace ordo
