// SPDX-License-Identifier: MIT
// Instead of engine/core/team.cpp, where a program has one thread: no team ever waits.
#include "core/pace.h"

namespace ordo::detail {

void Team::wake() {}
void Team::wait_long(std::uint32_t) {}
void Team::enter() {}
void Team::spread() {}
Restless::Restless() = default;
Restless::~Restless() = default;
bool restless_now() {
    return false;
}
Turn::Turn(int) : threads_(1) {}
Turn::~Turn() = default;
void Turn::settle(const Team&) {}

} // namespace ordo::detail
