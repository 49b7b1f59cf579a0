// SPDX-License-Identifier: MIT
// Moved-from models, and models whose states are not finite.
#include "tests/expect_error.h"
#include "tests/model/small_models.h"
#include "training.h"

#include <gtest/gtest.h>

namespace ordo {
namespace {

TEST(MovedFrom, AModelIsRefused) {
    Model model = random_model(small_blueprint(), "rope", 3);
    const Model moved = std::move(model);
    const auto refused = [](const std::function<void()>& call) { expect_error(ErrorCode::usage, "moved from", call); };
    refused([&] { Session session(model); });
    refused([&] { Batch batch(model, 2); });
    refused([&] { generate(model, "a"); });
    refused([&] { fill(model, "a"); });
    refused([&] { embed(model, "a"); });
    refused([&] { score(model, "a"); });
    refused([&] { model.with_encoding("none"); });
    refused([&] { Trainer trainer(model); });
    for (const auto call : {+[](const Model& m) { m.vocab_size(); }, +[](const Model& m) { m.context(); },
                            +[](const Model& m) { m.max_position(); }, +[](const Model& m) { m.encoding(); },
                            +[](const Model& m) { m.metadata("a"); }, +[](const Model& m) { m.has_encoder(); },
                            +[](const Model& m) { m.start_of_text(); }, +[](const Model& m) { m.end_of_text(); },
                            +[](const Model& m) { m.sampling(); }, +[](const Model& m) { m.encode("a"); },
                            +[](const Model& m) { m.decode({}); }})
        refused([&] { call(model); });
    EXPECT_EQ(moved.vocab_size(), small_blueprint().vocab_size);
}

TEST(Enumerations, UnknownValuesAreRefused) {
    const Model model = random_model(small_blueprint(), "rope", 3);
    expect_error(ErrorCode::usage, "cache type: expected one of CacheType, found 9",
                 [&] { Session session(model, {.cache = static_cast<CacheType>(9)}); });
    expect_error(ErrorCode::usage, "pooling: expected one of Pooling, found -1",
                 [&] { embed(model, "a", {.pooling = static_cast<Pooling>(-1)}); });
}

// A final norm with huge weights turns finite states into infinities.
TEST(FeedStates, RefusesWhatIsNotFinite) {
    Blueprint b = small_blueprint();
    ModelEncodings encodings("none", b.dims());
    TensorMemory tensors = floats_of(random_model(b, "none", 4));
    const View norm = tensors.view("final_norm.weight");
    std::fill_n(norm.data, norm.cols, 3e38f);
    const Model model = make_model("huge norm", b, std::move(encodings), std::move(tensors), {}, {}, b.context);
    Session session(model);
    const Token tokens[] = {1, 2, 3};
    expect_error(ErrorCode::model, "huge norm: the final norm yields values that are not finite",
                 [&] { session.feed_states(tokens, {}, [](int, ConstView) {}); });
    EXPECT_EQ(session.size(), 0);
    expect_error(ErrorCode::model, "not finite", [&] { session.feed(tokens); });
}

} // namespace
} // namespace ordo
