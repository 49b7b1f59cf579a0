// SPDX-License-Identifier: MIT
// Once a session is made, feeding it allocates nothing, and nor does generating. The C library's allocator is watched by taking
// its place in this program, which a sanitizer does too: there the test is skipped.
#include "core/parallel.h"
#include "tests/model/small_models.h"
#include "text/bpe_tokenizer.h"

#include <atomic>
#include <gtest/gtest.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ORDO_WATCH_MALLOC 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define ORDO_WATCH_MALLOC 0
#endif
#endif
#if !defined(ORDO_WATCH_MALLOC) && defined(__GLIBC__)
#define ORDO_WATCH_MALLOC 1
#endif

#if ORDO_WATCH_MALLOC

namespace {
std::atomic<bool> watching{false};
std::atomic<int> allocations{0};

void count() {
    if (watching.load(std::memory_order_relaxed)) allocations.fetch_add(1, std::memory_order_relaxed);
}
} // namespace

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

// operator new and the C++ library come through these as well.
void* malloc(std::size_t size) {
    count();
    return __libc_malloc(size);
}
void* calloc(std::size_t n, std::size_t size) {
    count();
    return __libc_calloc(n, size);
}
void* realloc(void* p, std::size_t size) {
    count();
    return __libc_realloc(p, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
    count();
    return __libc_memalign(alignment, size);
}
}

namespace ordo {
namespace {

class Watch {
public:
    Watch() {
        allocations = 0;
        watching = true;
    }
    ~Watch() { watching = false; }
    int seen() const { return allocations; }
};

// Watching must be able to fail.
TEST(Allocation, IsSeenWhenItHappens) {
    Watch watch;
    const auto heap = std::make_unique<std::vector<int>>(100);
    EXPECT_GE(watch.seen(), 2);
}

class AllocationOf : public ::testing::TestWithParam<std::string> {};

TEST_P(AllocationOf, FeedingIsNone) {
    for (const Mask mask : {Mask::causal, Mask::bidirectional}) {
        Blueprint b = small_blueprint();
        b.mask = mask;
        const Model model = random_model(b, GetParam(), 51);
        const std::vector<Token> tokens = random_tokens(90, b.vocab_size, 52);
        const std::vector<int> segments(90, 0);
        Session session(model, {96, 32});
        const int before = thread_count();
        for (const int threads : {1, 2}) {
            set_threads(threads);
            session.rewind(0);
            session.feed(tokens, segments); // OpenMP starts its threads, OpenBLAS takes its buffer
            session.rewind(0);
            Watch watch;
            session.feed(tokens, segments);
            EXPECT_EQ(watch.seen(), 0) << "prefill on " << threads;
            if (mask == Mask::bidirectional) continue;
            for (int i = 0; i < 6; ++i) session.feed({&tokens[0], 1}, {&segments[0], 1});
            EXPECT_EQ(watch.seen(), 0) << "decoding on " << threads;
        }
        set_threads(before);
    }
}

std::vector<std::string> encodings() {
    std::vector<std::string> specs = {"segment+learned", "rope+alibi"};
    for (const EncodingInfo* info : registered_encodings()) specs.emplace_back(info->name);
    return specs;
}

INSTANTIATE_TEST_SUITE_P(Encodings, AllocationOf, ::testing::ValuesIn(encodings()), [](const auto& spec) {
    std::string name = spec.param;
    for (char& c : name)
        if (c == '-' || c == '+') c = '_';
    return name;
});

TEST(Allocation, SamplingIsNone) {
    Sampler sampler(Sampling(), 1000);
    std::vector<float> logits(1000);
    for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>(Random(1, 1).normal(i));
    const std::vector<Token> history = {1, 2, 3};
    Watch watch;
    for (std::uint64_t i = 0; i < 20; ++i) sampler.sample(logits, history, i);
    EXPECT_EQ(watch.seen(), 0);
}

// From the first piece of the text to the last one: what one token leaves in memory must not grow with
// their number, however long the pieces are and however much is held back for a stop text.
TEST(Allocation, GeneratingIsNone) {
    BpeParts parts;
    for (int byte = 0; byte < 256; ++byte) parts.tokens.emplace_back(1, static_cast<char>(byte));
    parts.tokens.push_back(std::string(50, '-') + "\xe2\x82"); // two of the three bytes of a euro sign
    parts.tokens.push_back(std::string(90, '='));
    const Model model = scripted_model({{'a', {256}}, {256, {0xac}}, {0xac, {'b'}}, {'b', {257}}, {257, {'a'}}},
                                       std::make_unique<BpeTokenizer>(std::move(parts)));
    GenerateOptions options;
    options.max_tokens = 150;
    options.sampling.top_k = 1;
    options.stop = {std::string(200, '='), std::string(40, '-') + "!"};
    int pieces = 0, seen = -1;
    std::size_t bytes = 0;
    const auto on_text = [&](std::string_view text) {
        bytes += text.size();
        if (++pieces == 1) {
            allocations = 0;
            watching = true;
        } else if (pieces == 100) {
            watching = false;
            seen = allocations;
        }
        return true;
    };
    const Generation g = generate(model, "a", options, on_text);
    EXPECT_EQ(seen, 0);
    EXPECT_EQ(g.text.size(), bytes);
    std::string expected;
    for (int i = 0; i < 30; ++i)
        expected += std::string(50, '-') +
                    "\xe2\x82\xac"
                    "b" +
                    std::string(90, '=') + "a";
    EXPECT_EQ(g.text, expected);
}

} // namespace
} // namespace ordo

#else

TEST(Allocation, IsSeenWhenItHappens) {
    GTEST_SKIP() << "a sanitizer has taken the allocator's place";
}

#endif
