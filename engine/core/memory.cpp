// SPDX-License-Identifier: MIT
#include "core/memory.h"

#include <atomic>
#include <cstdint>
#include <limits>
#include <new>
#include <sys/mman.h>

namespace ordo {
namespace {

std::atomic<std::size_t> mapped_now{0};

std::size_t whole_pages(std::size_t bytes) {
    return (bytes + huge_page - 1) / huge_page * huge_page;
}

} // namespace

void* map_zeros(std::size_t bytes) {
    if (bytes > std::numeric_limits<std::size_t>::max() / 2) throw std::bad_alloc();
    // One page more than needed; what lies before and behind the aligned part goes back.
    const std::size_t size = whole_pages(bytes), mapped = size + huge_page;
    void* const raw = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED) throw std::bad_alloc();
    auto* const begin = static_cast<std::byte*>(raw);
    const auto address = reinterpret_cast<std::uintptr_t>(raw);
    const std::size_t before = (huge_page - address % huge_page) % huge_page;
    if (before != 0) munmap(begin, before);
    munmap(begin + before + size, huge_page - before);
    madvise(begin + before, size, MADV_HUGEPAGE); // a wish; small pages do too
    mapped_now += bytes;
    return begin + before;
}

void unmap(void* memory, std::size_t bytes) noexcept {
    munmap(memory, whole_pages(bytes));
    mapped_now -= bytes;
}

std::size_t mapped_bytes() noexcept {
    return mapped_now.load();
}

} // namespace ordo
