// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>

namespace ordo {

// Whether this thread has `bytes` of stack left. The first thread counts as one with a large stack.
bool has_stack(std::size_t bytes);

// Runs what needs 25 kB of stack: on a thread of its own if this one has little left, such as one of 96 KiB. It must
// not throw. Throws std::bad_alloc if there is no other thread.
void with_stack(const std::function<void()>& run);

} // namespace ordo
