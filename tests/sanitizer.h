// SPDX-License-Identifier: MIT
// Whether this program runs under a sanitizer, asked at run time: under the address sanitizer the tests are the objects
// that the release has too (Makefile).
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
