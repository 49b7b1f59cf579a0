// SPDX-License-Identifier: MIT
#include "core/blas.h"

#include "core/error.h"
#include "core/parallel.h"

#include <algorithm>
#include <utility>

namespace ordo {
namespace {

// The product of one tile c, on the calling thread. Defined below, with OpenBLAS and without.
void multiply(View a, Transpose ta, View b, Transpose tb, float beta, View c);

View part(View v, int row, int col) {
    return {v.row(row) + col, v.rows - row, v.cols - col, v.stride};
}

} // namespace

// Each product reorders its tile's rows of a and columns of b. This costs about as much as 25 multiplications for each
// number, and is repeated for every tile. More tiles serve more threads.
detail::Tiles detail::tiles_of(int m, int n, int k) {
    constexpr double least_products = 1 << 23, most_again = 1.0 / 550;
    constexpr int most = 16, multiple = 16;
    const double products = double{1} * m * n * k;
    const auto again = [&](int rows, int cols) { return (rows - 1.0) / m + (cols - 1.0) / n; };
    int best_rows = 1, best_cols = 1;
    for (int count = 2; count <= most && products >= least_products / 8; count *= 2) {
        int rows = 1;
        for (int r = 1; r <= count; r *= 2)
            if (again(r, count / r) < again(rows, count / rows)) rows = r;
        if (count > 2 && (again(rows, count / rows) > most_again || products / count < least_products)) break;
        best_rows = rows, best_cols = count / rows;
    }
    const auto size = [&](int all, int parts) {
        return std::max(1, ((all + parts - 1) / parts + multiple - 1) / multiple * multiple);
    };
    return {size(m, best_rows), size(n, best_cols)};
}

void gemm(View a, Transpose ta, View b, Transpose tb, View c, float beta) {
    if (c.rows <= 0 || c.cols <= 0) return;
    if (detail::member.team == nullptr) reserve_blas();
    const detail::Tiles tiles = detail::tiles_of(c.rows, c.cols, ta == Transpose::no ? a.cols : a.rows);
    const int down = (c.rows + tiles.rows - 1) / tiles.rows, across = (c.cols + tiles.cols - 1) / tiles.cols;
    parallel_for(std::ptrdiff_t{down} * across, 1, [&](std::ptrdiff_t t) {
        const int i = static_cast<int>(t) / across * tiles.rows, j = static_cast<int>(t) % across * tiles.cols;
        View tile = part(c, i, j);
        tile.rows = std::min(tile.rows, tiles.rows);
        tile.cols = std::min(tile.cols, tiles.cols);
        multiply(ta == Transpose::no ? part(a, i, 0) : part(a, 0, i), ta,
                 tb == Transpose::no ? part(b, 0, j) : part(b, j, 0), tb, beta, tile);
    });
}

} // namespace ordo

#ifdef ORDO_INTERNAL_GEMM // without OpenBLAS: for the thread sanitizer, which must see every instruction

namespace ordo {
namespace {

void multiply(View a, Transpose ta, View b, Transpose tb, float beta, View c) {
    const int k = ta == Transpose::no ? a.cols : a.rows;
    for (int i = 0; i < c.rows; ++i) {
        float* out = c.row(i);
        for (int j = 0; j < c.cols; ++j) out[j] = beta == 0 ? 0 : beta * out[j];
        for (int l = 0; l < k; ++l) {
            const float s = ta == Transpose::no ? a.row(i)[l] : a.row(l)[i];
            for (int j = 0; j < c.cols; ++j) out[j] += s * (tb == Transpose::no ? b.row(l)[j] : b.row(j)[l]);
        }
    }
}

} // namespace

void check_blas() {}
void reserve_blas() {}
std::string blas_description() {
    return "internal";
}

} // namespace ordo

#else

#include <cblas.h>
#include <condition_variable>
#include <mutex>
#include <pthread.h>
#include <sys/mman.h>

// OpenBLAS exports these two functions, though in no header. Without them buffers are only counted, not mapped ahead.
extern "C" {
[[gnu::weak]] void* blas_memory_alloc(int);
[[gnu::weak]] void blas_memory_free(void*);
}

namespace ordo {
namespace {

// OpenBLAS needs a buffer for each product that runs at the same time, and maps it at first use. If the system refuses
// (RLIMIT_AS, RLIMIT_DATA), OpenBLAS tries again for ever. It has a fixed number of buffers, and beyond it prints a
// message and fails. A product therefore waits for a mapped buffer, a new mapping, or the buffer of another product
// that ends.
class Buffers {
public:
    static constexpr std::size_t bytes = std::size_t{129} << 20; // with its alignment
    static constexpr int most = 48;                              // of 128 in Debian's build, less its threads' buffers

    // False if no buffer is mapped and none can be.
    bool reserve() {
        const std::lock_guard lock(mutex_);
        return mapped_ > 0 || map_another();
    }
    void take() {
        std::unique_lock lock(mutex_);
        while (used_ == mapped_ && !map_another()) free_.wait(lock);
        ++used_;
    }
    void give() {
        const std::lock_guard lock(mutex_);
        --used_;
        free_.notify_one();
    }
    int mapped() {
        const std::lock_guard lock(mutex_);
        return mapped_;
    }

    // Around a fork: the child has none of the parent's running products, nor their buffers.
    void lock() { mutex_.lock(); }
    void unlock() { mutex_.unlock(); }
    void forget_used() { mapped_ -= std::exchange(used_, 0); }

private:
    static bool has_space() {
        void* const space = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return space != MAP_FAILED && munmap(space, bytes) == 0;
    }

    bool known(const void* buffer) const {
        return std::find(std::begin(buffers_), std::begin(buffers_) + seen_, buffer) != std::begin(buffers_) + seen_;
    }

    // OpenBLAS returns its mapped buffers before it maps more. Ask until it returns a new one.
    bool map_another() {
        if (mapped_ == most || !has_space()) return false;
        if (blas_memory_alloc != nullptr && blas_memory_free != nullptr && seen_ < most) {
            void* held[most + 1];
            int count = 0;
            bool found = false;
            while (!found && count <= seen_ && has_space()) {
                held[count] = blas_memory_alloc(0);
                found = !known(held[count++]);
            }
            if (found) buffers_[seen_++] = held[count - 1];
            while (count > 0) blas_memory_free(held[--count]);
            if (!found) return false;
        }
        ++mapped_;
        return true;
    }

    std::mutex mutex_;
    std::condition_variable free_;
    int mapped_ = 0, used_ = 0;
    void* buffers_[most] = {};
    int seen_ = 0; // of buffers_
};

// Never destroyed, because threads may compute while the process ends.
Buffers& buffers() {
    alignas(Buffers) static std::byte memory[sizeof(Buffers)];
    static Buffers* const all = [] {
        auto* const made = new (memory) Buffers;
        pthread_atfork([] { buffers().lock(); }, [] { buffers().unlock(); },
                       [] {
                           buffers().forget_used();
                           buffers().unlock();
                       });
        return made;
    }();
    return *all;
}

// Takes a buffer for the calling thread, and sets OpenBLAS to one thread.
class OneProduct {
public:
    OneProduct() : threads_(thread_count()) {
        buffers().take();
        if (threads_ > 1) set_threads(1);
    }
    ~OneProduct() {
        if (threads_ > 1) set_threads(threads_);
        buffers().give();
    }
    OneProduct(const OneProduct&) = delete;
    OneProduct& operator=(const OneProduct&) = delete;

private:
    int threads_;
};

void multiply(View a, Transpose ta, View b, Transpose tb, float beta, View c) {
    const OneProduct product;
    const int k = ta == Transpose::no ? a.cols : a.rows;
    cblas_sgemm(CblasRowMajor, ta == Transpose::no ? CblasNoTrans : CblasTrans,
                tb == Transpose::no ? CblasNoTrans : CblasTrans, c.rows, c.cols, k, 1.0f, a.data,
                static_cast<int>(a.stride), b.data, static_cast<int>(b.stride), beta, c.data,
                static_cast<int>(c.stride));
}

} // namespace

void check_blas() {
    static constexpr int openmp = 2; // OPENBLAS_OPENMP
    const int found = openblas_get_parallel();
    if (found != openmp)
        fail(ErrorCode::failure, "OpenBLAS: expected the OpenMP flavour (parallel = ", openmp,
             "), found parallel = ", found, found == 1 ? " (pthreads)" : " (serial)",
             "; install libopenblas0-openmp and do not preload another flavour");
}

void reserve_blas() {
    if (!buffers().reserve())
        fail(ErrorCode::limit, "OpenBLAS: expected ", Buffers::bytes >> 20,
             " MiB of address space for products, found less (a limit on memory)");
}

std::string blas_description() {
    return std::string(openblas_get_config()) + (openblas_get_parallel() == 2 ? " OpenMP" : " not OpenMP");
}

} // namespace ordo

#endif
