// SPDX-License-Identifier: MIT
// Instead of engine/core/memory.cpp: WebAssembly has no pages to map. Memory comes from the heap.
#include "core/memory.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace ordo {

const std::size_t least_mapped = std::size_t{256} << 10;
const bool any_is_nan = false;

namespace {

constexpr std::size_t alignment = 64; // of a cache line
std::size_t mapped_now = 0;

} // namespace

void* map_zeros(std::size_t bytes) {
    if (bytes > std::numeric_limits<std::size_t>::max() / 2) throw std::bad_alloc();
    void* const memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (memory == nullptr) throw std::bad_alloc();
    mapped_now += bytes;
    return std::memset(memory, 0, bytes);
}

void unmap(void* memory, std::size_t bytes) noexcept {
    std::free(memory);
    mapped_now -= bytes;
}

void* map_any(std::size_t bytes) {
    return map_zeros(bytes);
}

void keep_mapped(void* memory, std::size_t bytes) noexcept {
    unmap(memory, bytes);
}

std::size_t mapped_bytes() noexcept {
    return mapped_now;
}

} // namespace ordo
