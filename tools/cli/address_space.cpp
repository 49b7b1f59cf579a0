// SPDX-License-Identifier: MIT
#include "tools/cli/address_space.h"

#include <cstddef>
#include <sched.h>
#include <sys/mman.h>

namespace ordo::tools {

namespace {

constexpr std::size_t block_bytes = std::size_t{129} << 20; // for each thread, with its alignment
constexpr int most_threads = 64;                            // the maximum of Debian's OpenBLAS

// The value if entry is "NAME=N..."; 0 for another variable or without a positive number.
int value_of(const char* entry, const char* name) {
    while (*name != '\0' && *entry == *name) ++entry, ++name;
    if (*name != '\0' || *entry != '=') return 0;
    int value = 0;
    for (++entry; *entry >= '0' && *entry <= '9' && value < 1'000'000; ++entry) value = 10 * value + (*entry - '0');
    return value;
}

} // namespace

bool has_space_for_blas(int threads) {
    void* blocks[most_threads + 1];
    // One more than the threads, for the calling thread, which allocates at the first product.
    const int wanted = (threads < most_threads ? threads : most_threads) + 1;
    int count = 0;
    while (count < wanted) {
        blocks[count] = ::mmap(nullptr, block_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (blocks[count] == MAP_FAILED) break;
        ++count;
    }
    for (int i = 0; i < count; ++i) ::munmap(blocks[i], block_bytes);
    return count == wanted;
}

int initial_blas_threads(char** environment) {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    int threads = ::sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : most_threads;
    int blas = 0, openmp = 0;
    for (char** entry = environment; entry && *entry; ++entry) {
        if (const int value = value_of(*entry, "OPENBLAS_NUM_THREADS")) blas = value;
        if (const int value = value_of(*entry, "OMP_NUM_THREADS")) openmp = value;
    }
    const int chosen = blas > 0 ? blas : openmp;
    return chosen > 0 && chosen < threads ? chosen : threads;
}

} // namespace ordo::tools
