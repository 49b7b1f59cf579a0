// SPDX-License-Identifier: MIT
// Memory from the system: zeros, which become resident only when they are touched. Large pieces come on
// huge pages where the system grants them, so that a stream of weights misses the TLB less often.
#pragma once

#include <cstddef>

namespace ordo {

inline constexpr std::size_t huge_page = std::size_t{2} << 20;
// From here on a buffer is worth a call of the system: most of it may never be touched.
extern const std::size_t least_mapped;

// Aligned to a page; half a huge page and more to a huge one. Throws std::bad_alloc.
void* map_zeros(std::size_t bytes);
void unmap(void* memory, std::size_t bytes) noexcept;
// What map_zeros() has given and not got back, in bytes: the heap's own figures do not count it.
std::size_t mapped_bytes() noexcept;

} // namespace ordo
