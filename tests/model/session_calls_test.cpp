// SPDX-License-Identifier: MIT
// The calls of a session and a batch that compile, and the calls that must not compile.
#include "tests/model/small_models.h"

#include <gtest/gtest.h>

namespace ordo {
namespace {

// A session of a temporary model would outlive it.
static_assert(std::is_constructible_v<Session, const Model&> && std::is_constructible_v<Session, Model&>);
static_assert(!std::is_constructible_v<Session, Model> && !std::is_constructible_v<Session, const Model>);
static_assert(!std::is_constructible_v<Session, Model, SessionOptions>);
static_assert(std::is_constructible_v<Batch, const Model&, int> && !std::is_constructible_v<Batch, Model, int>);

TEST(Sessions, TakeOneTokenOrRowsInBraces) {
    const Model model = random_model(small_blueprint(), "rope", 1);
    const Token tokens[] = {3, 1, 4};
    Session whole(model), single(model);
    const std::span<const float> logits = whole.feed(tokens, {});
    const std::vector<float> expected(logits.begin(), logits.end());
    for (const Token token : tokens) single.feed(token);
    EXPECT_EQ(single.size(), 3);
    EXPECT_LE(difference(single.feed({tokens, 1}), whole.feed(tokens[0])), 1e-5);
    whole.rewind(0);
    int rows = 0;
    whole.feed_all(tokens, {}, [&](int, View some) { rows += some.rows; });
    EXPECT_EQ(rows, 3);
    whole.rewind(2);
    EXPECT_LE(difference(whole.feed(tokens[2]), expected), 1e-5);
    Session* const both[] = {&whole, &single};
    Batch batch(model, 2);
    EXPECT_EQ(batch.feed(both, {tokens, 2}, {}).rows, 2);
}

} // namespace
} // namespace ordo
