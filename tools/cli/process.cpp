// SPDX-License-Identifier: MIT
#include "tools/cli/process.h"

#include "tools/cli/address_space.h"
#include "tools/terminal/signals.h"

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>

namespace ordo::tools {

namespace {

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(ORDO_INTERNAL_GEMM)
// Runs before the libraries are initialised. OpenBLAS would never finish its initialisation without memory.
void check_address_space(int, char**, char** environment) {
    if (has_space_for_blas(initial_blas_threads(environment) - 1)) return;
    constexpr std::string_view text = "ordo: out of memory: too little address space for OpenBLAS\n";
    if (::write(STDERR_FILENO, text.data(), text.size()) < 0) ::_exit(4);
    ::_exit(4);
}
[[gnu::section(".preinit_array"), gnu::used]] void (*const before_libraries)(int, char**, char**) = check_address_space;
#endif

// OpenMP's threads wait for each other by spinning, for milliseconds unless told otherwise. Another program then cannot
// use their processors, nor can the thread that they wait for. This runs before an OpenMP that is part of the program
// (Makefile) reads its settings; programs that this one starts do not inherit it.
bool wait_is_ours = false;
[[gnu::constructor(101)]] void wait_briefly() {
    if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) return;
    wait_is_ours = ::setenv("GOMP_SPINCOUNT", "5000", 0) == 0; // pauses: 50 to 200 microseconds
}

// If a standard stream is closed, the next opened file would take its place, and be read or written instead. So each
// closed stream gets a descriptor on which every use fails.
void hold_standard_streams() {
    for (int fd = 0; fd < 3; ++fd)
        if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF) ::open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

// Loading a model fills megabytes of heap: the header of the file, the tables of the tokenizer. In a virtual machine,
// the first write to a page took 12 us, and the first write to a huge page 110 (Zen 5). So 8 MB of the heap are on
// huge pages, and blocks below 2 MB come from the heap.
void use_huge_pages() {
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) &&                           \
    !defined(ORDO_INTERNAL_GEMM)
    constexpr std::size_t huge_page = std::size_t{2} << 20, header = 64;
    constexpr int megabyte = 1 << 20, default_pad = 128 << 10;
    static void* volatile place;               // of small pages: never written, and not left out by a compiler
    ::mallopt(M_MMAP_THRESHOLD, 2 * megabyte); // larger blocks are returned when they are freed
    ::mallopt(M_TRIM_THRESHOLD, 64 * megabyte);
    ::mallopt(M_TOP_PAD, 8 * megabyte);
    const auto page_of_end = [] { return reinterpret_cast<std::uintptr_t>(::sbrk(0)) / huge_page * huge_page; };
    const std::uintptr_t first = page_of_end() + huge_page;
    place = std::malloc(first - reinterpret_cast<std::uintptr_t>(::sbrk(0)) + ::mallinfo2().keepcost - header);
    ::mallopt(M_TOP_PAD, default_pad);
    if (place != nullptr && page_of_end() > first)
        ::madvise(reinterpret_cast<void*>(first), page_of_end() - first, MADV_HUGEPAGE); // NOLINT: an address
#endif
}

} // namespace

void widen_thread_stacks() {
    constexpr std::size_t least = std::size_t{1} << 20;
    pthread_attr_t attributes;
    if (::pthread_getattr_default_np(&attributes) != 0) return;
    std::size_t size = 0;
    if (::pthread_attr_getstacksize(&attributes, &size) == 0 && size < least &&
        ::pthread_attr_setstacksize(&attributes, least) == 0)
        ::pthread_setattr_default_np(&attributes);
    ::pthread_attr_destroy(&attributes);
}

std::span<const char* const> begin_process(int argc, char** argv) {
    if (wait_is_ours) ::unsetenv("GOMP_SPINCOUNT");
    use_huge_pages();
    hold_standard_streams();
    install_signal_handlers();
    widen_thread_stacks();
    const int skipped = argc > 0 ? 1 : 0;
    return {argv + skipped, static_cast<std::size_t>(argc - skipped)};
}

} // namespace ordo::tools
