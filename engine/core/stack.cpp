// SPDX-License-Identifier: MIT
#include "core/stack.h"

#include <cstddef>
#include <new>
#include <pthread.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace ordo {

void with_stack(const std::function<void()>& run) {
    constexpr std::ptrdiff_t enough = 64 << 10;
    pthread_attr_t attributes;
    void* lowest = nullptr;
    std::size_t size = 0;
    // The first thread has a large stack, and glibc looks for it in a file.
    if (::gettid() == ::getpid() || pthread_getattr_np(pthread_self(), &attributes) != 0) return run();
    pthread_attr_getstack(&attributes, &lowest, &size);
    pthread_attr_destroy(&attributes);
    if (static_cast<char*>(__builtin_frame_address(0)) - static_cast<char*>(lowest) > enough) return run();
    try {
        std::thread(run).join();
    } catch (const std::system_error&) {
        throw std::bad_alloc();
    }
}

} // namespace ordo
