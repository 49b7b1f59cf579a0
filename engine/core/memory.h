// SPDX-License-Identifier: MIT
// Memory from the system. It is zero, and becomes resident only when touched. Large pieces use huge pages where the
// system grants them, so that a stream of weights has fewer TLB misses.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

namespace ordo {

inline constexpr std::size_t huge_page = std::size_t{2} << 20;
// A buffer of at least this size is worth a system call: most of it may never be touched.
extern const std::size_t least_mapped;
// Whether buffers of any contents begin with NaNs, so that tests find what reads before it writes.
extern const bool any_is_nan;

// Aligned to a page, or to a huge page from half a huge page on. Throws std::bad_alloc.
void* map_zeros(std::size_t bytes);
void unmap(void* memory, std::size_t bytes) noexcept;
// The same with any contents, for memory that one session after the other takes. keep_mapped() keeps the last few
// pieces for map_any(), so that the system need not clear their pages again. The system takes back pieces from half a
// huge page on when it needs memory.
void* map_any(std::size_t bytes);
void keep_mapped(void* memory, std::size_t bytes) noexcept;
// The bytes of map_zeros() and map_any() that have not been returned. The heap's own figures do not count them.
std::size_t mapped_bytes() noexcept;

// While a MemoryCount lives, new buffers (core/tensor.h) of its thread add their size to it instead of taking memory.
// This computes the memory that a constructor will take, by calling it. Nothing may read or write such a buffer.
class MemoryCount {
public:
    MemoryCount() : before_(std::exchange(now_, this)) {}
    MemoryCount(const MemoryCount&) = delete;
    MemoryCount& operator=(const MemoryCount&) = delete;
    ~MemoryCount() { now_ = before_; }
    std::uint64_t bytes() const { return bytes_; } // at most 2^64 - 1

    // False: nothing is counting.
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

// The bytes of the buffers that make() creates.
template <class Make>
std::uint64_t count_bytes(const Make& make) {
    const MemoryCount count;
    make();
    return count.bytes();
}

} // namespace ordo
