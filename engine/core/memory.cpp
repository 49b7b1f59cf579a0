// SPDX-License-Identifier: MIT
#include "core/memory.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <new>
#include <sys/mman.h>

namespace ordo {

// The address sanitizer checks the heap alone. In its build only pieces larger than a test's caches are mapped.
#ifdef __SANITIZE_ADDRESS__
const std::size_t least_mapped = 2 * huge_page;
#else
const std::size_t least_mapped = std::size_t{256} << 10;
#endif

namespace {

std::atomic<std::size_t> mapped_now{0};

// Below this size, clearing a huge page is mostly wasted. At this size it is cheaper: in a virtual machine 512 pages of
// 4 kB took the system about 50 times as long (bench/README.md).
constexpr std::size_t least_on_huge_pages = huge_page / 2;

// The bytes of a piece on huge pages. The remainder is on one too if it fills half of it.
std::size_t on_huge_pages(std::size_t bytes) {
    return (bytes + huge_page - least_on_huge_pages) / huge_page * huge_page;
}
std::size_t whole_pages(std::size_t bytes) {
    constexpr std::size_t page = std::size_t{64} << 10; // the largest size of an ordinary page on any system
    return bytes < least_on_huge_pages ? bytes : std::max((bytes + page - 1) / page * page, on_huge_pages(bytes));
}

std::byte* map(std::size_t bytes) {
    void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
}

std::byte* map_huge_pages(std::size_t bytes) {
    // Maps one page more than needed, and returns the memory before and after the aligned part.
    const std::size_t size = whole_pages(bytes);
    std::byte* const begin = map(size + huge_page);
    if (begin == nullptr) return map(size); // for which there may be address space
    const auto address = reinterpret_cast<std::uintptr_t>(begin);
    const std::size_t before = (huge_page - address % huge_page) % huge_page;
    if (before != 0) munmap(begin, before);
    munmap(begin + before + size, huge_page - before);
    madvise(begin + before, on_huge_pages(bytes), MADV_HUGEPAGE); // only a hint; small pages work too
    return begin + before;
}

} // namespace

void* map_zeros(std::size_t bytes) {
    if (bytes > std::numeric_limits<std::size_t>::max() / 2) throw std::bad_alloc();
    void* const memory = bytes < least_on_huge_pages ? map(bytes) : map_huge_pages(bytes);
    if (memory == nullptr) throw std::bad_alloc();
    mapped_now += bytes;
    return memory;
}

void unmap(void* memory, std::size_t bytes) noexcept {
    munmap(memory, whole_pages(bytes));
    mapped_now -= bytes;
}

std::size_t mapped_bytes() noexcept {
    return mapped_now.load();
}

} // namespace ordo
