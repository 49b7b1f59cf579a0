// SPDX-License-Identifier: MIT
#include "kernels/tile_permission.h"

#include "kernels/tile_config.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace ordo {
namespace {

constexpr unsigned os_saves_state = 1u << 27;                          // OSXSAVE
constexpr unsigned amx = 1u << 22 | 1u << 24 | 1u << 25;               // BF16, TILE, INT8
constexpr std::uint64_t tile_state = std::uint64_t{1} << 17 | 1 << 18; // XTILECFG, XTILEDATA

// Linux 5.16 and later (Documentation/arch/x86/xstate.rst). The permission covers the process, with its threads and
// children. Kernels without tiles refuse it (EINVAL, EOPNOTSUPP), as do filters of system calls (EPERM, ENOSYS). It is
// also refused where a thread's alternate signal stack is too small for the larger frame (ENOSPC).
bool permit() {
    constexpr int get = 0x1022, request = 0x1023; // ARCH_GET_XCOMP_PERM, ARCH_REQ_XCOMP_PERM
    constexpr int tile_data = 18;
    std::uint64_t granted = 0;
    return syscall(SYS_arch_prctl, request, tile_data) == 0 && syscall(SYS_arch_prctl, get, &granted) == 0 &&
           (granted >> tile_data & 1) != 0;
}

std::uint64_t enabled_state() { // XGETBV; its intrinsic requires -mxsave
    unsigned low = 0, high = 0;
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return std::uint64_t{high} << 32 | low;
}

} // namespace

TileMachine this_tile_machine() {
    TileMachine machine;
    machine.permit = permit;
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid(1, &a, &b, &c, &d) != 0) machine.features = c;
    if ((machine.features & os_saves_state) != 0) machine.state = enabled_state();
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) != 0) machine.extensions = d;
    if (__get_cpuid_count(0x1d, 1, &a, &b, &c, &d) != 0) {
        machine.row_bytes = b & 0xffff;
        machine.tiles = b >> 16;
        machine.rows = c & 0xffff;
    }
    return machine;
}

bool runs_tiles(const TileMachine& machine) {
    return (machine.features & os_saves_state) != 0 && (machine.extensions & amx) == amx &&
           (machine.state & tile_state) == tile_state && machine.tiles >= palette_tiles &&
           machine.rows >= palette_rows && machine.row_bytes >= palette_row_bytes && machine.permit();
}

} // namespace ordo
