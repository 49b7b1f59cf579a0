// SPDX-License-Identifier: MIT
// Products: their values, the same bits for any number of threads, and an error if memory is limited.
#include "core/blas.h"
#include "core/parallel.h"
#include "core/random.h"
#include "core/tensor.h"
#include "ordo.h"
#include "tests/sanitizer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace ordo {
namespace {

struct Sizes {
    int m, n, k;
};

// Covers the sizes at which OpenBLAS splits a sum differently for each number of threads: above 384 and not multiples
// of 8. Also feed-forward widths of known models, few rows, few columns, and training's long sums over rows.
const Sizes sizes[] = {{1, 1, 1},        {9, 64, 500},    {33, 96, 683},   {50, 17, 1365}, {256, 288, 500},
                       {64, 128, 2730},  {450, 500, 77},  {128, 500, 450}, {500, 64, 450}, {384, 192, 1001},
                       {300, 1200, 385}, {17, 2304, 768}, {192, 576, 2047}};

// The same 4,093 numbers again and again, since to draw millions would take longer than the products.
void fill(Tensor& t, std::uint64_t stream) {
    const Random random(11, stream);
    std::array<float, 4093> some{};
    for (std::size_t i = 0; i < some.size(); ++i) some[i] = static_cast<float>(random.normal(i));
    for (std::size_t at = 0; at < t.size(); at += some.size())
        std::copy_n(some.begin(), std::min(some.size(), t.size() - at), t.data() + at);
}

// a, b and c of a product, with gaps between their rows.
struct Operands {
    Operands(const Sizes& s, Transpose a_turned, Transpose b_turned)
        : ta(a_turned), tb(b_turned), a(ta == Transpose::no ? s.m : s.k, (ta == Transpose::no ? s.k : s.m) + 3),
          b(tb == Transpose::no ? s.k : s.n, (tb == Transpose::no ? s.n : s.k) + 5), c(s.m, s.n + 1) {
        fill(a, 1);
        fill(b, 2);
        fill(c, 3);
    }
    View in_a() { return cols_of(a.view(), 0, a.cols() - 3); }
    View in_b() { return cols_of(b.view(), 0, b.cols() - 5); }
    View out() { return cols_of(c.view(), 0, c.cols() - 1); }

    // c after the product, which finds c as it was.
    std::vector<float> product(float beta, int threads, bool in_team) {
        std::vector<float> out(c.data(), c.data() + c.size());
        const View to{out.data(), c.rows(), c.cols() - 1, c.cols()};
        set_threads(threads);
        if (in_team)
            team(threads, [&] { gemm(in_a(), ta, in_b(), tb, to, beta); });
        else
            gemm(in_a(), ta, in_b(), tb, to, beta);
        EXPECT_EQ(thread_count(), threads);
        return out;
    }

    Transpose ta, tb;
    Tensor a, b, c;
};

class Products : public testing::Test {
protected:
    ~Products() override { set_threads(before_); }
    int before_ = thread_count();
    detail::Restless restless_;
};

constexpr Transpose both[] = {Transpose::no, Transpose::yes};

TEST_F(Products, HaveTheSameBitsForAnyNumberOfThreads) {
    for (const Sizes& s : sizes)
        for (const Transpose ta : both)
            for (const Transpose tb : both) {
                Operands operands(s, ta, tb);
                for (const float beta : {0.0f, 1.0f}) {
                    if (beta == 1 && ta == tb) continue; // half of the cases are enough
                    const std::vector<float> one = operands.product(beta, 1, false);
                    for (const int threads : {2, 3, 4, 8})
                        for (const bool in_team : {false, true}) {
                            const std::vector<float> found = operands.product(beta, threads, in_team);
                            EXPECT_EQ(std::memcmp(found.data(), one.data(), one.size() * sizeof(float)), 0)
                                << s.m << " x " << s.n << " x " << s.k << ", " << (ta == Transpose::yes)
                                << (tb == Transpose::yes) << ", beta " << beta << ", " << threads << " threads";
                        }
                }
            }
}

TEST_F(Products, AgreeWithDoubles) {
    for (const Sizes& s : sizes)
        for (const Transpose ta : both)
            for (const Transpose tb : both) {
                Operands o(s, ta, tb);
                const std::vector<float> found = o.product(1, 2, false);
                for (int i = 0; i < s.m; i += 7)
                    for (int j = 0; j < s.n; j += 5) {
                        double expected = o.c.view().row(i)[j];
                        for (int l = 0; l < s.k; ++l)
                            expected += double{ta == Transpose::no ? o.a.view().row(i)[l] : o.a.view().row(l)[i]} *
                                        (tb == Transpose::no ? o.b.view().row(l)[j] : o.b.view().row(j)[l]);
                        ASSERT_NEAR(found[i * o.c.cols() + j], expected, 1e-5 * std::sqrt(s.k) + 1e-5);
                    }
                for (int i = 0; i < s.m; ++i) // nothing outside c changes
                    EXPECT_EQ(found[i * o.c.cols() + s.n], o.c.view().row(i)[s.n]);
            }
}

TEST_F(Products, OfManyThreadsAtOnceAreRight) {
    const Sizes s{64, 96, 400};
    Operands operands(s, Transpose::no, Transpose::yes);
    const std::vector<float> expected = operands.product(0, 1, false);
    std::vector<std::thread> hosts;
    std::atomic<int> wrong{0};
    for (int i = 0; i < 64; ++i) // more threads than buffers
        hosts.emplace_back([&] {
            for (int repeat = 0; repeat < 5; ++repeat) wrong += operands.product(0, 2, false) != expected;
        });
    for (std::thread& host : hosts) host.join();
    EXPECT_EQ(wrong, 0);
}

TEST(ProductTiles, CoverAllAndAreNotTooMany) {
    for (const Sizes& s : sizes) {
        const detail::Tiles tiles = detail::tiles_of(s.m, s.n, s.k);
        EXPECT_GT(tiles.rows, 0);
        EXPECT_GT(tiles.cols, 0);
    }
    EXPECT_GE(detail::tiles_of(4, 4, 4).cols, 4); // too small for a second thread
    EXPECT_LT(detail::tiles_of(256, 2304, 768).cols, 2304 / 2);
    EXPECT_LT(detail::tiles_of(8192, 192, 576).rows, 8192 / 2);
}

#ifndef ORDO_INTERNAL_GEMM

// The virtual memory of this process, or its data segment.
rlim_t in_use(const char* what) {
    std::ifstream file("/proc/self/status");
    std::string word;
    while (file >> word)
        if (word == what) {
            rlim_t kilobytes = 0;
            file >> kilobytes;
            return kilobytes * 1024;
        }
    return 0;
}

// On its own, OpenBLAS would ask for its buffers forever.
TEST_F(Products, EndWhereMemoryIsLimited) {
    if (test::is_sanitized()) GTEST_SKIP() << "a sanitizer needs the address space for itself";
    for (const auto& [resource, name] : {std::pair{RLIMIT_AS, "VmSize:"}, {RLIMIT_DATA, "VmData:"}})
        for (const rlim_t megabytes : {2, 60, 125, 200, 300}) {
            const pid_t child = ::fork();
            if (child == 0) {
                ::alarm(60);
                const Sizes s{300, 600, 400};
                Operands o(s, Transpose::no, Transpose::yes);
                const rlim_t most = in_use(name) + (megabytes << 20);
                const rlimit limit{most, most};
                ::setrlimit(resource, &limit);
                try { // three products at once, if threads can be created
                    gemm(o.in_a(), Transpose::no, o.in_b(), Transpose::yes, o.out());
                    if (megabytes < 100) ::_exit(0);
                    std::vector<std::thread> hosts;
                    for (int i = 0; i < 3; ++i)
                        hosts.emplace_back([&] {
                            Tensor c(s.m, s.n);
                            set_threads(1);
                            gemm(o.in_a(), Transpose::no, o.in_b(), Transpose::yes, c.view());
                        });
                    for (std::thread& host : hosts) host.join();
                } catch (const Error& error) {
                    ::_exit(error.code == ErrorCode::limit ? 0 : 2);
                } catch (const std::system_error&) {
                    ::_exit(0); // the thread could not be created
                } catch (const std::bad_alloc&) {
                    ::_exit(0);
                }
                ::_exit(0);
            }
            int status = -1;
            ASSERT_EQ(::waitpid(child, &status, 0), child);
            EXPECT_TRUE(WIFEXITED(status)) << name << " " << megabytes << ": signal " << WTERMSIG(status);
            EXPECT_EQ(WEXITSTATUS(status), 0) << name << " " << megabytes;
        }
}

#endif

} // namespace
} // namespace ordo
