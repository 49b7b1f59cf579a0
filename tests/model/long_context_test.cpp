// SPDX-License-Identifier: MIT
// The memory of a session with a long context while its text is short: the session touches pages as the text grows.
#include "tests/model/small_models.h"

#include <fstream>
#include <gtest/gtest.h>

namespace ordo {
namespace {

long resident_mib() {
    std::ifstream statm("/proc/self/statm");
    long size = 0, pages = 0;
    statm >> size >> pages;
    return pages * 4 / 1024; // of 4 KiB on every machine that the tests run on
}

// 16 layers of 8 heads. If the keys of each head filled a huge page of 2 MiB, they would take 512 MiB.
Blueprint long_blueprint() {
    Blueprint b = small_blueprint();
    b.context = 1 << 17;
    b.n_layers = 16;
    b.n_heads = b.n_kv_heads = 8;
    b.d_head = 4;
    b.d_model = b.d_ff = 32;
    return b;
}

TEST(LongContext, TakesMemoryAsTheTextGrows) {
    if (test::is_sanitized()) GTEST_SKIP() << "a sanitizer's memory would be counted";
    for (const char* encoding : {"none", "forget", "cope", "shaw", "sink"}) {
        const Model model = random_model(long_blueprint(), encoding, 5);
        const std::vector<Token> tokens = random_tokens(300, 101, 6);
        const long before = resident_mib();
        Session session(model);
        session.feed(std::span(tokens).first(3));
        EXPECT_LT(resident_mib() - before, 48) << encoding;
        for (int at = 3; at < 300; ++at) session.feed({&tokens[at], 1});
        EXPECT_LT(resident_mib() - before, 96) << encoding;
    }
}

// The result does not depend on how the cache grew.
TEST(LongContext, GivesTheSameBits) {
    Blueprint b = long_blueprint();
    b.context = 3000;
    for (const char* encoding : {"rope", "forget+alibi"})
        for (const CacheType type : {CacheType::f32, CacheType::bf16, CacheType::q8_0}) {
            const Model model = random_model(b, encoding, 7);
            const std::vector<Token> tokens = random_tokens(1200, 101, 8);
            Session grown(model, {.chunk = 50, .cache = type}), whole(model, {.capacity = 1200, .cache = type});
            for (std::size_t at = 0; at < 1190; at += 70) grown.feed(std::span(tokens).subspan(at, 70));
            const std::span<const float> a = grown.feed(std::span(tokens).last(10));
            const std::span<const float> all = whole.feed(tokens);
            EXPECT_EQ(difference(a, all), 0) << encoding;
        }
}

} // namespace
} // namespace ordo
