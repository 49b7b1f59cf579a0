// SPDX-License-Identifier: MIT
// Memory from the system: zeros, which become resident only when they are touched. Large pieces come on
// huge pages where the system grants them, so that a stream of weights misses the TLB less often.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

namespace ordo {

inline constexpr std::size_t huge_page = std::size_t{2} << 20;
// From here on a buffer is worth a call of the system: most of it may never be touched.
extern const std::size_t least_mapped;

// Aligned to a page; half a huge page and more to a huge one. Throws std::bad_alloc.
void* map_zeros(std::size_t bytes);
void unmap(void* memory, std::size_t bytes) noexcept;
// What map_zeros() has given and not got back, in bytes: the heap's own figures do not count it.
std::size_t mapped_bytes() noexcept;

// While one lives, buffers (core/tensor.h) that its thread makes add to it in the place of taking memory. What a
// constructor will take is counted by the constructor itself; nothing may read or write such a buffer.
class MemoryCount {
public:
    MemoryCount() : before_(std::exchange(now_, this)) {}
    MemoryCount(const MemoryCount&) = delete;
    MemoryCount& operator=(const MemoryCount&) = delete;
    ~MemoryCount() { now_ = before_; }
    std::uint64_t bytes() const { return bytes_; } // at most 2^64 - 1

    // False: nobody counts.
    static bool add(std::uint64_t bytes) {
        if (now_ == nullptr) return false;
        now_->bytes_ += std::min(bytes, std::numeric_limits<std::uint64_t>::max() - now_->bytes_);
        return true;
    }

private:
    inline static constinit thread_local MemoryCount* now_ = nullptr;
    MemoryCount* before_;
    std::uint64_t bytes_ = 0;
};

// The bytes of the buffers that make() makes.
template <class Make>
std::uint64_t count_bytes(const Make& make) {
    const MemoryCount count;
    make();
    return count.bytes();
}

} // namespace ordo
