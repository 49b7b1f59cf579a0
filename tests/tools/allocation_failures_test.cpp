// SPDX-License-Identifier: MIT
// Makes the n-th allocation fail, for every n until no allocation fails. For the program, beyond 256 and without
// $SWEEPS, n grows by a 64th instead, or beyond 32 by an eighth if a sanitizer slows it down. Each n runs twice: the
// n-th allocation fails alone, or all later ones fail with it, as when memory is used up. Each run either succeeds or
// ends with exit code 4 and one line that says so. The run after it behaves like the first.
// The test watches C++'s operator new by replacing it in this program.
#include "core/parallel.h"
#include "ordo.h"
#include "tests/tools/child.h"
#include "tests/tools/models.h"
#include "tools/cli/dispatch.h"

#include <atomic>
#include <cstdlib>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <new>
#include <sys/wait.h>
#include <unistd.h>

namespace {

std::atomic<bool> watched{false};
std::atomic<long> until_failure{0}; // allocations that still succeed
std::atomic<bool> for_good{false};

void* allocate(std::size_t size, std::size_t alignment) {
    if (watched.load(std::memory_order_relaxed)) {
        const long left = until_failure.fetch_sub(1) - 1;
        if (left == -1 || (left < -1 && for_good)) throw std::bad_alloc();
    }
    void* const memory = alignment == 0 ? std::malloc(size == 0 ? 1 : size)
                                        : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

} // namespace

void* operator new(std::size_t size) {
    return allocate(size, 0);
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { // std::stable_sort handles failure
    return std::malloc(size == 0 ? 1 : size);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
    return allocate(size, static_cast<std::size_t>(alignment));
}
// Not inlined: with only these inlined, g++ 12 would warn about free() of a pointer from new.
[[gnu::noinline]] void operator delete(void* memory) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
    std::free(memory);
}

namespace {

using namespace ordo;
using namespace ordo::test;

// Runs the body with the n-th allocation failing. Returns true if there was no n-th allocation.
template <class Body>
bool runs_with_failure(long n, bool from_there_on, const Body& body) {
    for_good = from_there_on;
    until_failure = n - 1;
    watched = true;
    body();
    watched = false;
    return until_failure >= 0;
}

// ---- The library ----------------------------------------------------------------------------

TEST(AllocationFailures, LoadingAModelThrows) {
    for (const char* name : {"rope", "segments"})
        for (const bool from_there_on : {false, true})
            for (long n = 1, whole = 0; whole == 0; ++n) {
                SCOPED_TRACE(n);
                bool thrown = false;
                std::string other; // another exception's message, in a string without heap memory
                const std::filesystem::path path = model_file(name);
                const bool none = runs_with_failure(n, from_there_on, [&] {
                    try {
                        Model::load(path);
                    } catch (const Error& error) {
                        thrown = error.code == ErrorCode::limit;
                        watched = false;
                        if (!thrown) other = error.what();
                    } catch (const std::bad_alloc&) {
                        thrown = true;
                    }
                });
                ASSERT_EQ(thrown, !none) << other;
                whole = none ? n : 0;
            }
}

TEST(AllocationFailures, EncodingNamesTheFile) {
    const std::string file = model_file("rope"), text(10'000, 'a');
    const Model model = Model::load(file);
    int failures = 0;
    for (long n = 1, whole = 0; whole == 0; ++n) {
        SCOPED_TRACE(n);
        std::string said;
        const bool none = runs_with_failure(n, false, [&] {
            try {
                model.encode(text);
            } catch (const Error& error) {
                watched = false;
                said = error.what();
                EXPECT_EQ(error.code, ErrorCode::limit);
            }
        });
        if (none) {
            whole = n;
        } else if (!said.empty()) { // the failure was reported
            ++failures;
            EXPECT_NE(said.find(file), std::string::npos) << said;
            EXPECT_NE(said.find("not enough memory to encode a text of 10000 bytes"), std::string::npos) << said;
        }
    }
    EXPECT_GT(failures, 0);
}

// ---- The program ----------------------------------------------------------------------------

// Runs in a child process, so that a crash fails only one test. Its messages go to the file. The exit code is the
// number of the run that went wrong, modulo 100, or 0.
int run_all(const std::vector<const char*>& args, bool from_there_on, const std::filesystem::path& said) {
    const int null = ::open("/dev/null", O_WRONLY), err = ::open(said.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    ::dup2(null, STDOUT_FILENO);
    ::dup2(err, STDERR_FILENO);
    const bool all = std::getenv("SWEEPS") && *std::getenv("SWEEPS");
    const long few = is_instrumented() ? 8 : 64; // much slower
    for (long n = 1;; n += all || n < 4 * few ? 1 : n / few) {
        if (::ftruncate(err, 0) != 0 || ::lseek(err, 0, SEEK_SET) != 0) return 101;
        int code = -1;
        const bool none = runs_with_failure(n, from_there_on, [&] { code = tools::run_program(args); });
        const bool right = code == 0 || (code == 4 && !none && ::lseek(err, 0, SEEK_END) > 10);
        if (!right) return static_cast<int>(1 + n % 100);
        if (none) return 0;
    }
}

void expect_success_or_limit(const std::vector<std::string>& words) {
    const TempDir dir;
    std::vector<const char*> args;
    for (const std::string& word : words) args.push_back(word.c_str());
    for (const bool from_there_on : {false, true}) {
        SCOPED_TRACE(words[0] + (from_there_on ? ", all from there on" : ", one"));
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            ::alarm(is_instrumented() ? 600 : 120);
            ::_exit(run_all(args, from_there_on, dir / "said"));
        }
        int status = -1;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
        EXPECT_EQ(WEXITSTATUS(status), 0) << file_content(dir / "said");
    }
}

class CliAllocationFailures : public testing::Test {
protected:
    void SetUp() override {
        ::setenv("ORDO_WEIGHTS", model_directory().c_str(), 1);
        set_threads(1); // the child of a multi-threaded process has no team
    }
    void TearDown() override {
        ::unsetenv("ORDO_WEIGHTS");
        set_threads(before_);
    }
    int before_ = thread_count();
    TempDir dir_;
};

TEST_F(CliAllocationFailures, EndGenerate) {
    expect_success_or_limit({"generate", "-p", "abc", "-n", "3", "--temp", "0", "-t", "1"});
}

TEST_F(CliAllocationFailures, EndInfo) {
    expect_success_or_limit({"info", model_file("rope"), "-t", "1"});
    expect_success_or_limit({"info", model_file("rope"), "--format", "json", "-t", "1"});
}

TEST_F(CliAllocationFailures, EndEncodings) {
    expect_success_or_limit({"encodings"});
    expect_success_or_limit({"encodings", "--format", "json"});
    expect_success_or_limit({"encodings", "rope+alibi", "--format", "json"});
}

TEST_F(CliAllocationFailures, EndTokenizeAndLogits) {
    expect_success_or_limit({"tokenize", "-p", "abc", "--format", "json"});
    expect_success_or_limit({"logits", "-p", "abc", "-t", "1"});
}

TEST_F(CliAllocationFailures, EndConvertAndLeaveTheFile) {
    const std::string out = (dir_ / "out").string();
    put_file(out, "old");
    expect_success_or_limit(
        {"convert", model_file("random"), out, "--dtype", "q8_0", "--no-accuracy", "-q", "-t", "1"});
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir_.path()), std::filesystem::directory_iterator()),
              1);
}

} // namespace
