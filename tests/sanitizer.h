// SPDX-License-Identifier: MIT
// Whether this program runs under a sanitizer, determined at run time: the address sanitizer's tests are the same
// objects as the release's (Makefile).
#pragma once

extern "C" {
void __asan_init() __attribute__((weak));
void __tsan_init() __attribute__((weak));
}

namespace ordo::test {

inline bool is_sanitized() {
    return __asan_init || __tsan_init;
}

} // namespace ordo::test
