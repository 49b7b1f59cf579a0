// SPDX-License-Identifier: MIT
#include "core/thread_stack.h"

#include <cstddef>
#include <new>
#include <pthread.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace ordo {

bool has_stack(std::size_t bytes) {
    if (::gettid() == ::getpid()) return true; // glibc would look for its stack in a file
    static thread_local const char* lowest = nullptr;
    if (lowest == nullptr) {
        pthread_attr_t attributes;
        void* at = nullptr;
        std::size_t size = 0;
        if (pthread_getattr_np(pthread_self(), &attributes) != 0) return true;
        pthread_attr_getstack(&attributes, &at, &size);
        pthread_attr_destroy(&attributes);
        lowest = static_cast<const char*>(at);
    }
    return static_cast<const char*>(__builtin_frame_address(0)) - lowest > static_cast<std::ptrdiff_t>(bytes);
}

void with_stack(const std::function<void()>& run) {
    constexpr std::size_t enough = 64 << 10;
    if (has_stack(enough)) return run();
    try {
        std::thread(run).join();
    } catch (const std::system_error&) {
        throw std::bad_alloc();
    }
}

} // namespace ordo
