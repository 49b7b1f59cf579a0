// SPDX-License-Identifier: MIT
#include "core/memory.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <mutex>
#include <new>
#include <sys/mman.h>
#include <utility>

namespace ordo {

// The address sanitizer checks the heap alone. In its build only pieces larger than a test's caches are mapped.
#ifdef __SANITIZE_ADDRESS__
const std::size_t least_mapped = 2 * huge_page;
const bool any_is_nan = true;
#else
const std::size_t least_mapped = std::size_t{256} << 10;
const bool any_is_nan = false;
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

// The pieces that were returned last. A thread that finds them in use by another, or by one that a fork left behind,
// does without them.
class Kept {
public:
    std::byte* take(std::size_t size) {
        const std::unique_lock lock(mutex_, std::try_to_lock);
        if (!lock) return nullptr;
        for (Piece& piece : pieces_)
            if (piece.memory != nullptr && piece.size == size) return std::exchange(piece.memory, nullptr);
        return nullptr;
    }
    void give(std::byte* memory, std::size_t size) {
        // The next write to a page costs a fault, some 10 us in a virtual machine. Smaller pieces hold 32 MB at most.
        if (size >= least_on_huge_pages) madvise(memory, size, MADV_FREE);
        Piece piece{memory, size};
        if (const std::unique_lock lock(mutex_, std::try_to_lock); lock) {
            std::swap(piece, pieces_[next_]);
            next_ = (next_ + 1) % pieces_.size();
        }
        if (piece.memory != nullptr) munmap(piece.memory, piece.size);
    }
    void drop() {
        for (std::size_t i = 0; i < pieces_.size(); ++i) give(nullptr, 0);
    }

private:
    struct Piece {
        std::byte* memory = nullptr;
        std::size_t size = 0;
    };
    std::mutex mutex_;
    std::array<Piece, 32> pieces_; // pairs of sessions have fewer
    std::size_t next_ = 0;
};
constinit Kept kept;

std::byte* map_new(std::size_t bytes) {
    return bytes < least_on_huge_pages ? map(bytes) : map_huge_pages(bytes);
}

} // namespace

void* map_zeros(std::size_t bytes) {
    if (bytes > std::numeric_limits<std::size_t>::max() / 2) throw std::bad_alloc();
    std::byte* memory = map_new(bytes);
    if (memory == nullptr) {
        kept.drop(); // which may leave address space
        memory = map_new(bytes);
    }
    if (memory == nullptr) throw std::bad_alloc();
    mapped_now += bytes;
    return memory;
}

void unmap(void* memory, std::size_t bytes) noexcept {
    munmap(memory, whole_pages(bytes));
    mapped_now -= bytes;
}

void* map_any(std::size_t bytes) {
    void* const memory = kept.take(whole_pages(bytes));
    if (memory == nullptr) return map_zeros(bytes);
    mapped_now += bytes;
    return memory;
}

void keep_mapped(void* memory, std::size_t bytes) noexcept {
    kept.give(static_cast<std::byte*>(memory), whole_pages(bytes));
    mapped_now -= bytes;
}

std::size_t mapped_bytes() noexcept {
    return mapped_now.load();
}

} // namespace ordo
