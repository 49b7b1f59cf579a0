// SPDX-License-Identifier: MIT
// Sessions on a stack of 64 KiB, as threads have under ulimit -s 64.
#include "core/parallel.h"
#include "encoding/base/registry.h"
#include "tests/model/small_models.h"

#include <gtest/gtest.h>
#include <pthread.h>

namespace ordo {
namespace {

struct Job {
    const Model* model;
    const std::vector<Token>* tokens;
    std::size_t fed;
};

// The smallest stack that a thread can be created with. It also holds the libraries' data for each thread.
std::size_t least_stack() {
    constexpr std::size_t step = std::size_t{4} << 10;
    for (std::size_t size = 4 * step;; size += step) {
        pthread_attr_t attributes;
        pthread_t thread{};
        pthread_attr_init(&attributes);
        const bool made = pthread_attr_setstacksize(&attributes, size) == 0 &&
                          pthread_create(
                              &thread, &attributes, [](void* p) { return p; }, nullptr) == 0;
        pthread_attr_destroy(&attributes);
        if (!made) continue;
        pthread_join(thread, nullptr);
        return size;
    }
}

void* feed(void* argument) {
    Job& job = *static_cast<Job*>(argument);
    set_threads(1); // all work runs on this stack
    Session session(*job.model, {.capacity = 80});
    for (const std::size_t n : {70u, 1u, 1u}) {
        session.feed(std::span(*job.tokens).subspan(job.fed, n));
        job.fed += n;
    }
    return nullptr;
}

TEST(SmallStack, HoldsWhatASessionTakes) {
    if (test::is_sanitized()) GTEST_SKIP() << "a sanitizer's frames are larger";
    const std::vector<Token> tokens = random_tokens(80, 101, 3);
    const std::size_t least = least_stack();
    for (const EncodingInfo* info : registered_encodings()) {
        const Model model = random_model(small_blueprint(), info->name, 4);
        Job job{&model, &tokens, 0};
        pthread_attr_t attributes;
        pthread_t thread{};
        ASSERT_EQ(pthread_attr_init(&attributes), 0);
        ASSERT_EQ(pthread_attr_setstacksize(&attributes, least + (std::size_t{60} << 10)), 0);
        ASSERT_EQ(pthread_create(&thread, &attributes, feed, &job), 0);
        pthread_join(thread, nullptr);
        pthread_attr_destroy(&attributes);
        EXPECT_EQ(job.fed, 72u) << info->name;
    }
}

} // namespace
} // namespace ordo
