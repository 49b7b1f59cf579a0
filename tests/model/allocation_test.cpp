// SPDX-License-Identifier: MIT
// After a session is created, neither feeding it nor generating allocates memory within the trained context. The tests
// count allocations by replacing the C library's allocator in this program. A sanitizer replaces it too, so the tests
// are skipped under one.
#include "core/parallel.h"
#include "encoding/base/registry.h"
#include "model/pass.h"
#include "model/sequence.h"
#include "tests/encoding/accepts.h"
#include "tests/model/small_models.h"
#include "tests/words.h"
#include "text/bpe_tokenizer.h"
#include "training/network.h"

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
std::atomic<std::size_t> aligned_bytes{0}; // bytes of tensors; only counted for small ones

void count() {
    if (watching.load(std::memory_order_relaxed)) allocations.fetch_add(1, std::memory_order_relaxed);
}
} // namespace

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

// operator new and the C++ library call these functions too.
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
    if (watching.load(std::memory_order_relaxed)) aligned_bytes += size;
    return __libc_memalign(alignment, size);
}
}

namespace ordo {
namespace {

class Watch {
public:
    Watch() {
        allocations = 0;
        aligned_bytes = 0;
        watching = true;
    }
    ~Watch() { watching = false; }
    int seen() const { return allocations; }
    std::size_t bytes() const { return aligned_bytes; }
};

// The counter itself must work.
TEST(Allocation, IsSeenWhenItHappens) {
    Watch watch;
    const auto heap = std::make_unique<std::vector<int>>(100);
    EXPECT_GE(watch.seen(), 2);
}

class AllocationOf : public ::testing::TestWithParam<std::string> {};

void expect_feeding_allocates_nothing(Blueprint b, const std::string& encoding, WeightType type = WeightType::f32) {
    for (const Mask mask : {Mask::causal, Mask::bidirectional}) {
        b.mask = mask;
        for (LayerPlan& plan : b.pattern) plan.mask = mask;
        if (!accepts(encoding, b.dims())) continue;
        const Model model = random_model(b, encoding, 51, type);
        const std::vector<Token> tokens = random_tokens(90, b.vocab_size, 52);
        const std::vector<int> segments(90, 0);
        Session session(model, {96, 32});
        const int before = thread_count();
        for (const int threads : {1, 2}) {
            set_threads(threads);
            session.rewind(0);
            session.feed(tokens, {.segments = segments}); // starts OpenMP's threads
            session.rewind(0);
            Watch watch;
            session.feed(tokens, {.segments = segments});
            EXPECT_EQ(watch.seen(), 0) << "prefill on " << threads;
            if (mask == Mask::bidirectional) continue;
            for (int i = 0; i < 6; ++i) session.feed({&tokens[0], 1}, {.segments = {&segments[0], 1}});
            EXPECT_EQ(watch.seen(), 0) << "decoding on " << threads;
        }
        set_threads(before);
    }
}

TEST_P(AllocationOf, FeedingIsNone) {
    expect_feeding_allocates_nothing(small_blueprint(), GetParam());
}

// Feeding sorts rows by expert in the session's own memory, whatever the number of experts.
TEST(Allocation, FeedingExpertsIsNone) {
    Blueprint b = small_blueprint();
    b.d_model = 64, b.d_head = 16, b.d_ff = 96;
    b.pattern = {b, b};
    b.pattern[0].experts = 3, b.pattern[0].experts_used = 2;
    b.pattern[1].experts = 20, b.pattern[1].experts_used = 1, b.pattern[1].gated = false;
    b.pattern[1].norm_place = NormPlace::sandwich, b.pattern[1].qk_norm = QkNorm::head;
    for (const WeightType type : {WeightType::f32, WeightType::bf16, WeightType::q8_0, WeightType::q4_0})
        expect_feeding_allocates_nothing(b, "rope", type);
}

// The limits use the computed size, which equals the allocated size up to whole cache lines.
TEST(Allocation, IsAsLargeAsItSays) {
    Blueprint mixture = small_blueprint();
    mixture.pattern = {mixture, mixture};
    mixture.pattern[0].experts = 5, mixture.pattern[0].experts_used = 3;
    Blueprint dense = small_blueprint();
    dense.pattern = {dense, dense};
    dense.pattern[1].gated = false;
    for (const Blueprint& b : {mixture, dense})
        for (const char* encoding :
             {"rope", "shaw", "forget", "cope+sink", "pattern(forget,shaw)", "forget+relative-logits"}) {
            const Model model = random_model(b, encoding, 51, WeightType::bf16);
            const Model::Impl& m = impl_of(model);
            const PassSizes sizes{20, 20, 90};
            {
                const Watch watch;
                const Pass pass(m, m.encodings_for(90).encodings, sizes);
                const std::size_t said = Pass::bytes(m, sizes);
                EXPECT_GE(watch.bytes(), said) << encoding;
                EXPECT_LE(watch.bytes(), said + 20 * 64) << encoding;
            }
            for (const CacheType type : {CacheType::f16, CacheType::bf16, CacheType::q8_0}) {
                KvCacheShape shape{b.n_layers, b.n_kv_heads, b.d_head, 90, type, 3};
                for (int i = 0; i < b.n_layers; ++i) shape.state_floats.push_back(m.encodings.layer(i).kept_floats());
                const Watch watch;
                const KvCache cache(shape);
                EXPECT_GE(watch.bytes(), KvCache::bytes(shape)) << encoding;
                EXPECT_LE(watch.bytes(), KvCache::bytes(shape) + 6 * 64) << encoding;
            }
        }
}

// A state that only queries read takes no memory for the tokens of the cache.
TEST(Allocation, OfASessionLeavesOutStatesOfQueriesAlone) {
    const auto growth = [](const char* encoding) {
        const Model model = random_model(small_blueprint(), encoding, 51);
        const auto bytes = [&](int capacity) {
            return Sequence(impl_of(model), {.capacity = capacity, .chunk = 20}, "session", false, 0, 0, 0)
                .session_bytes;
        };
        return bytes(2000) - bytes(1000);
    };
    EXPECT_EQ(growth("relative-logits"), growth("none"));
    EXPECT_EQ(growth("forget+relative-logits"), growth("forget"));
    EXPECT_GT(growth("forget"), growth("none"));
}

// The memory of training, without lists of views.
TEST(Allocation, OfANetworkIsAsLargeAsItSays) {
    Blueprint b = small_blueprint();
    b.n_kv_heads = 2, b.vocab_size = 31;
    Blueprint mixture = b;
    mixture.experts = 5, mixture.experts_used = 3;
    const int before = thread_count();
    set_threads(2);
    for (const Blueprint& each : {b, mixture})
        for (const char* encoding : {"learned+segment", "rope", "forget", "shaw"}) {
            ModelEncodings encodings(encoding, each.dims());
            Parameters parameters(each, encodings);
            parameters.initialise(1);
            const std::vector<Token> tokens = random_tokens(2 * 24, each.vocab_size, 1);
            const double said = sizeof(float) * Network::floats(each, encodings, 2, 24);
            const Watch watch;
            Network network(each, encodings, parameters, 2, 24);
            const auto made = static_cast<double>(watch.bytes());
            // To find out whether encodings can be trained, the network briefly replaces their tensors with zeros.
            const auto tried = Parameters::floats(each, encodings) - Parameters::floats(each, {});
            EXPECT_LE(made, 1.01 * said + sizeof(float) * static_cast<double>(tried)) << encoding;
            EXPECT_GE(made, 0.75 * said) << encoding; // each step allocates some of it only for a while
        }
    set_threads(before);
}

std::vector<std::string> encodings() {
    std::vector<std::string> specs = ordo::test::words_in(
        "segment+learned rope+alibi alibi:trained=yes alibi:penalty=exponential,length=20 kerple:kernel=power "
        "fire:threshold=30 shaw:values=no deberta:terms=p2c rope:sections=2/2/1 "
        "rope:scaling=dynamic,factor=2,original=40 rope:scaling=yarn,factor=4,original=20 cope+forget+t5 "
        "pattern((alibi),(shaw+sink))");
    for (const EncodingInfo* info : registered_encodings()) specs.emplace_back(info->name);
    return specs;
}

INSTANTIATE_TEST_SUITE_P(Encodings, AllocationOf, ::testing::ValuesIn(encodings()), [](const auto& spec) {
    std::string name = spec.param;
    for (char& c : name)
        if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
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

// From the first piece of the text to the last. The memory that a token leaves behind must not grow with the number of
// tokens, however long the pieces are and however much text a stop text holds back.
TEST(Allocation, GeneratingIsNone) {
    BpeParts parts;
    for (int byte = 0; byte < 256; ++byte) parts.tokens.emplace_back(1, static_cast<char>(byte));
    parts.tokens.push_back(std::string(50, '-') + "\xe2\x82"); // two of the three bytes of a euro sign
    parts.tokens.push_back(std::string(90, '='));
    const Model model = scripted_model({{'a', {256}}, {256, {0xac}}, {0xac, {'b'}}, {'b', {257}}, {257, {'a'}}},
                                       make_bpe_tokenizer(parts));
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
