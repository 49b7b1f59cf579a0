// SPDX-License-Identifier: MIT
#include "tests/expect_error.h"
#include "tests/model/small_models.h"

#include <gtest/gtest.h>
#include <thread>

namespace ordo {
namespace {

TEST(Sessions, CapacityIsTheTrainedContextUnlessAskedOtherwise) {
    const Model model = random_model(small_blueprint(), "none", 1);
    EXPECT_EQ(Session(model).capacity(), 96);
    EXPECT_EQ(Session(model, {1}).capacity(), 1);
    EXPECT_EQ(Session(model, {5000}).capacity(), 5000); // this model sets no limit
}

// As in a struct that holds both and is returned from a function.
TEST(Sessions, LiveOnWhenTheirModelIsMoved) {
    Model model = random_model(small_blueprint(), "rope", 1);
    Session session(model), other(model);
    Batch batch(model, 1);
    const Token tokens[] = {3, 1, 4};
    const std::span<const float> logits = session.feed(tokens);
    const std::vector<float> expected(logits.begin(), logits.end());
    const Model moved = std::move(model);
    session.rewind(0);
    const std::span<const float> found = session.feed(tokens);
    EXPECT_EQ(std::vector<float>(found.begin(), found.end()), expected);
    Session* const one[] = {&other};
    EXPECT_EQ(batch.feed(one, std::span(tokens).first(1)).rows, 1);
}

TEST(Sessions, RefuseOptionsOutOfRange) {
    const Model model = random_model(small_blueprint(), "none", 1);
    expect_error(ErrorCode::usage, "capacity", [&] { Session s(model, {-1}); });
    expect_error(ErrorCode::usage, "chunk", [&] { Session s(model, {0, 0}); });
    expect_error(ErrorCode::usage, "first position", [&] { Session s(model, {0, 256, -1}); });
    constexpr int most = std::numeric_limits<int>::max();
    for (const int huge : {(1 << 22) + 1, most}) { // sizes are rounded up to multiples
        expect_error(ErrorCode::limit, "4194304", [&] { Session s(model, {huge}); });
        expect_error(ErrorCode::limit, "4194304", [&] { Batch batch(model, 1, huge); });
    }
    expect_error(ErrorCode::limit, "position", [&] { Session s(model, {10, 256, most - 5}); });
    Session session(model, {.capacity = 10, .chunk = most});
    EXPECT_EQ(session.feed(1).size(), 101u);
    expect_error(ErrorCode::limit, "", [&] { session.rewind(most); });
    expect_error(ErrorCode::limit, "", [&] { session.evict(most, most); });
    expect_error(ErrorCode::limit, "", [&] { session.evict(1, most); });
}

TEST(Sessions, RefuseMoreMemoryThanThereIs) {
    Blueprint b = small_blueprint();
    b.n_layers = 60;
    b.d_head = 1024;
    const Model model = random_model(b, "none", 1);
    // 2 * 60 * 4 * 1024 floats a token are two megabytes: eight terabytes in all.
    expect_error(ErrorCode::limit, " GiB and the weights", [&] { Session s(model, {1 << 22}); });
}

// The caller's own table of positions, with 20 rows, for two segments.
class Short final : public Encoding {
public:
    std::string spec() const override { return "short:table=20"; }
    Limits limits() const override { return {.positions = 20, .segments = 2}; }
    void embed(View x, const TokenRows& rows) const override {
        for (int i = 0; i < x.rows; ++i) {
            const auto at = static_cast<std::size_t>(i);
            x.row(i)[0] += 0.1f * static_cast<float>(rows.positions[at]);
            x.row(i)[1] += rows.segments.empty() ? 0.0f : static_cast<float>(rows.segments[at]);
        }
    }
};

Model short_model(const Blueprint& b = small_blueprint()) {
    std::vector<OwnEncoding> items;
    items.push_back(std::make_unique<Short>());
    return random_model(b, ModelEncodings(std::move(items), b.n_layers), 2);
}

TEST(Sessions, RefusePositionsThatTheEncodingDoesNotHave) {
    const Model model = short_model();
    EXPECT_EQ(model.max_position(), 20);
    EXPECT_EQ(Session(model, {20}).capacity(), 20);
    expect_error(ErrorCode::limit, "short: expected positions below 20, found 20", [&] { Session s(model, {21}); });
    EXPECT_EQ(Session(model, {5, 256, 15}).capacity(), 5);
    expect_error(ErrorCode::limit, "short: expected positions below 20, found 20", [&] {
        Session s(model, {6, 256, 15});
    });
    expect_error(ErrorCode::limit, "short: expected positions below 20, found 33", [&] {
        Session s(model, {0, 256, 33});
    });
    // By default a session takes as many positions as there are.
    EXPECT_EQ(Session(model).capacity(), 20);
    EXPECT_EQ(Session(model, {0, 256, 15}).capacity(), 5);
}

TEST(Sessions, RefuseInputsAndStayAsTheyWere) {
    const Model model = short_model();
    const std::vector<Token> tokens = random_tokens(8, small_vocab, 3);
    Session session(model, {10});
    Session untouched(model, {10});
    session.feed(tokens);
    untouched.feed(tokens);
    const std::vector<Token> three = {1, 2, 3};
    expect_error(ErrorCode::usage, "at least one token", [&] { session.feed({}); });
    expect_error(ErrorCode::limit, "expected at most 10 tokens, found 8 and 3 more", [&] { session.feed(three); });
    expect_error(ErrorCode::limit, "token 1: expected an id from 0 to 100, found 101", [&] {
        session.feed(std::vector<Token>{5, 101});
    });
    expect_error(ErrorCode::limit, "found -1", [&] { session.feed(std::vector<Token>{-1}); });
    expect_error(ErrorCode::usage, "segment for each of 2 tokens, found 1", [&] {
        session.feed(std::vector<Token>{5, 6}, {.segments = std::vector<int>{0}});
    });
    expect_error(ErrorCode::limit, "segment", [&] {
        session.feed(std::vector<Token>{5, 6}, {.segments = std::vector<int>{0, -1}});
    });
    expect_error(ErrorCode::limit, "short: segment 2, the table has 2", [&] {
        session.feed(std::vector<Token>{5, 6}, {.segments = std::vector<int>{1, 2}});
    });
    expect_error(ErrorCode::limit, "rewind", [&] { session.rewind(9); });
    expect_error(ErrorCode::limit, "rewind", [&] { session.rewind(-1); });
    EXPECT_EQ(session.size(), 8);
    const Token next[] = {7};
    EXPECT_EQ(difference(session.feed(next), untouched.feed(next)), 0);
}

TEST(Sessions, SegmentsReachTheEncodingInEveryChunk) {
    const Model model = short_model();
    const std::vector<Token> tokens = random_tokens(20, small_vocab, 4);
    std::vector<int> segments(20, 0);
    std::fill(segments.begin() + 9, segments.end(), 1);
    const Rows whole = logits_of(model, tokens, 20, 0, segments);
    for (const int chunk : {1, 3, 10}) EXPECT_LE(difference(logits_of(model, tokens, chunk, 0, segments), whole), 1e-4);
    const Rows none = logits_of(model, tokens, 20);
    EXPECT_EQ(difference(none[8], whole[8]), 0); // without segments all tokens are in the first one
    EXPECT_GT(difference(none[9], whole[9]), 1e-2);
}

TEST(Sessions, RewindAndRefillEqualsRecomputing) {
    Blueprint b = small_blueprint();
    for (const int window : {0, 6}) {
        b.window = window;
        const Model model = random_model(b, "none", 5);
        const std::vector<Token> tokens = random_tokens(90, small_vocab, 6), others = random_tokens(90, small_vocab, 7);
        Session session(model, {96, 16});
        for (const int keep : {80, 65, 64, 63, 1, 0}) {
            session.rewind(0);
            session.feed(tokens);
            session.rewind(keep);
            EXPECT_EQ(session.size(), keep);
            std::vector<Token> mixed(tokens.begin(), tokens.begin() + keep);
            mixed.insert(mixed.end(), others.begin(), others.begin() + 96 - keep - 6);
            const std::span<const Token> rest(mixed.data() + keep, mixed.size() - static_cast<std::size_t>(keep));
            const std::span<const float> again = session.feed(rest);
            EXPECT_LE(difference(again, logits_of(model, mixed, 16).back()), 1e-4) << keep;
        }
    }
}

class Eviction : public testing::TestWithParam<QkNorm> {};
INSTANTIATE_TEST_SUITE_P(Norms, Eviction, testing::Values(QkNorm::none, QkNorm::rotated));

TEST_P(Eviction, LeavesPlacesAndPositions) {
    Blueprint b = small_blueprint();
    b.n_layers = 1;
    b.qk_norm = GetParam();
    const Model model = random_model(b, "rope:scaling=yarn,factor=4,original=20,theta=100", 8);
    const std::vector<Token> tokens = random_tokens(90, small_vocab, 9);
    const std::span<const Token> all(tokens);
    for (const CacheType type : {CacheType::f32, CacheType::f16, CacheType::bf16, CacheType::q8_0}) {
        const double most = type == CacheType::f32 ? 1e-4 : type == CacheType::f16 ? 2e-2 : 1e-1;
        const SessionOptions sizes{.capacity = 96, .cache = type};
        Session session(model, sizes), other(model, sizes);
        session.feed(all);
        session.evict(3, 20);
        session.evict(3, 47); // of tokens that have already moved
        other.feed(all.first(3));
        other.feed(all.subspan(70));
        EXPECT_LE(difference(session.feed(all.first(1)), other.feed(all.first(1))), most);
        session.rewind(5);
        other.rewind(5);
        EXPECT_LE(difference(session.feed(all.first(9)), other.feed(all.first(9))), most);
    }
}

TEST(Sessions, EvictRefusesWhatItCannotDo) {
    const Model model = random_model(small_blueprint(), "rope", 8);
    const std::vector<Token> tokens = random_tokens(10, small_vocab, 9);
    Session session(model);
    session.feed(tokens);
    for (const auto& [first, count] : {std::pair{-1, 2}, {0, 11}, {11, 0}, {5, 6}, {2, -1}})
        EXPECT_THROW(session.evict(first, count), Error) << first << ' ' << count;
    EXPECT_EQ(session.size(), 10);
    session.rewind(0);
    const std::vector<int> falling = {9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
    session.feed(tokens, TokenRows{falling, {}});
    EXPECT_THROW(session.evict(0, 3), Error);
    EXPECT_EQ(session.size(), 10);
    Blueprint b = small_blueprint();
    b.mask = Mask::bidirectional;
    const Model other = random_model(b, "rope", 8);
    EXPECT_FALSE(Session(other).can_evict());
}

TEST(Sessions, ABidirectionalModelTakesItsInputAtOnce) {
    Blueprint b = small_blueprint();
    b.mask = Mask::bidirectional;
    const Model model = random_model(b, "none", 8);
    const std::vector<Token> tokens = random_tokens(40, small_vocab, 9);
    Session session(model, {60, 8}); // the chunk size makes no difference
    const Rows first = logits_of(session, tokens);
    expect_error(ErrorCode::usage, "bidirectional", [&] { session.feed(std::vector<Token>{1}); });
    expect_error(ErrorCode::usage, "bidirectional", [&] { session.rewind(20); });
    session.rewind(40);
    session.rewind(0);
    EXPECT_EQ(difference(logits_of(session, tokens), first), 0);
    // Every token attends to every other, so the last token affects the first.
    std::vector<Token> changed = tokens;
    changed.back() = (changed.back() + 1) % small_vocab;
    EXPECT_GT(difference(logits_of(model, changed).front(), first.front()), 1e-4);
}

// Weights that overflow in one layer.
TEST(Sessions, ValuesThatAreNotFiniteAreReportedByLayer) {
    const Blueprint b = small_blueprint();
    for (const std::string tensor : {"layers.1.feed_forward.out.weight", "layers.0.attention.out.weight"}) {
        ModelEncodings encodings;
        TensorMemory tensors(model_tensors(b, encodings));
        for (std::size_t i = 0; i < tensors.specs().size(); ++i)
            for (float& v : tensors.values(i)) v = tensors.specs()[i].name == tensor ? 3e38f : 0.5f;
        const Model model = make_model("huge", b, {}, std::move(tensors), nullptr, {}, b.context);
        Session session(model, {10, 2});
        const std::string layer = tensor.substr(7, 1);
        const std::vector<Token> five = {1, 2, 3, 4, 5};
        expect_error(ErrorCode::model, "huge: layer " + layer + " yields", [&] { session.feed(five); });
        expect_error(ErrorCode::model, "layer " + layer, [&] { session.feed(std::vector<Token>{1}); });
        EXPECT_EQ(session.size(), 0);
    }
}

TEST(Sessions, ACallbackThatThrowsLeavesTheSessionAsItWas) {
    const Model model = random_model(small_blueprint(), "none", 10);
    const std::vector<Token> tokens = random_tokens(20, small_vocab, 11);
    Session session(model, {40, 4});
    session.feed(std::span(tokens).first(10));
    const auto bad = [](int first, View) {
        if (first == 4) throw 42;
    };
    EXPECT_THROW(session.feed_all(std::span(tokens).subspan(10), TokenRows{}, bad), int);
    EXPECT_EQ(session.size(), 10);
    EXPECT_LE(difference(session.feed(std::span(tokens).subspan(10)), logits_of(model, tokens).back()), 1e-4);
}

TEST(Sessions, AFullSessionFillsToTheLastToken) {
    const Model model = random_model(small_blueprint(), "none", 12);
    const std::vector<Token> tokens = random_tokens(64, small_vocab, 13);
    Session session(model, {64, 64});
    session.feed(tokens);
    EXPECT_EQ(session.size(), session.capacity());
    expect_error(ErrorCode::limit, "at most 64 tokens", [&] { session.feed(std::vector<Token>{1}); });
}

TEST(Sessions, MovedSessionsGoOn) {
    const Model model = random_model(small_blueprint(), "none", 14);
    const std::vector<Token> tokens = random_tokens(12, small_vocab, 15);
    Session a(model);
    a.feed(std::span(tokens).first(6));
    Session b = std::move(a);
    a = Session(model, {3});
    EXPECT_LE(difference(b.feed(std::span(tokens).subspan(6)), logits_of(model, tokens).back()), 1e-4);
    EXPECT_EQ(a.capacity(), 3);
}

// ---- One call at a time ---------------------------------------------------------------------

// Feeds 12 tokens with feed_all() in chunks of 4. The result, and the state of the session afterwards, must be the same
// whatever the callback tries.
void expect_undisturbed(const std::function<void(const Model&, Session&, int first)>& attempt) {
    const Model model = random_model(small_blueprint(), "rope", 16);
    const std::vector<Token> tokens = random_tokens(14, small_vocab, 17);
    const std::vector<std::vector<float>> expected = logits_of(model, tokens);
    Session session(model, {14, 4});
    session.feed(std::span(tokens).first(1));
    std::size_t seen = 1;
    session.feed_all(std::span(tokens).subspan(1, 12), TokenRows{}, [&](int first, View logits) {
        attempt(model, session, first);
        for (int i = 0; i < logits.rows; ++i, ++seen)
            EXPECT_LE(difference({logits.row(i), static_cast<std::size_t>(logits.cols)}, expected[seen]), 1e-4) << seen;
    });
    EXPECT_EQ(seen, 13u);
    EXPECT_EQ(session.size(), 13);
    EXPECT_LE(difference(session.feed(std::span(tokens).last(1)), expected.back()), 1e-4);
    EXPECT_EQ(session.size(), 14);
}

// Each of these calls would overwrite the rows in use, or write past the end of the cache.
TEST(OneCallAtATime, ACallbackCannotChangeItsSession) {
    const std::vector<Token> many = random_tokens(12, small_vocab, 18);
    expect_undisturbed([&](const Model&, Session& session, int) {
        expect_error(ErrorCode::usage, "in the middle of another", [&] { session.feed(many); });
    });
    expect_undisturbed([&](const Model&, Session& session, int) {
        expect_error(ErrorCode::usage, "in the middle of another",
                     [&] { session.feed_all(many, TokenRows{}, [](int, View) { ADD_FAILURE(); }); });
    });
    expect_undisturbed([&](const Model&, Session& session, int) {
        for (const int size : {0, 1, session.size()})
            expect_error(ErrorCode::usage, "in the middle of another", [&] { session.rewind(size); });
    });
    expect_undisturbed([&](const Model& model, Session& session, int) {
        Batch batch(model, 2);
        Session other(model);
        Session* const both[] = {&other, &session};
        expect_error(ErrorCode::usage, "in the middle of another", [&] { batch.feed(both, std::span(many).first(2)); });
        EXPECT_EQ(other.size(), 0);
        EXPECT_EQ(batch.feed(std::span(both).first(1), std::span(many).first(1)).rows, 1); // neither session is stuck
    });
}

TEST(OneCallAtATime, OtherThreadsAreRefused) {
    expect_undisturbed([](const Model&, Session& session, int) {
        std::thread([&] {
            expect_error(ErrorCode::usage, "in the middle of another", [&] { session.rewind(0); });
        }).join();
    });
}

TEST(OneCallAtATime, ACallbackMayAskAndMayUseOtherSessions) {
    expect_undisturbed([](const Model& model, Session& session, int first) {
        EXPECT_EQ(session.size(), 1 + first + 4);
        EXPECT_EQ(session.capacity(), 14);
        Session other(model);
        EXPECT_EQ(other.feed(random_tokens(5, small_vocab, 19)).size(), std::size_t{small_vocab});
    });
}

TEST(OneCallAtATime, ACallbackMayMoveItsSession) {
    expect_undisturbed([](const Model&, Session& session, int) {
        Session moved = std::move(session);
        expect_error(ErrorCode::usage, "in the middle of another", [&] { moved.rewind(0); });
        expect_error(ErrorCode::usage, "moved from", [&] { session.rewind(0); });
        EXPECT_EQ(session.size(), 0);
        EXPECT_EQ(session.capacity(), 0);
        session = std::move(moved);
    });
}

TEST(OneCallAtATime, ACallbackMayDestroyItsSession) {
    const Model model = random_model(small_blueprint(), "rope", 16);
    const std::vector<Token> tokens = random_tokens(12, small_vocab, 17);
    const std::vector<std::vector<float>> expected = logits_of(model, tokens);
    const auto expect_all = [&](Session& session, const std::function<void()>& end) {
        std::size_t seen = 0;
        session.feed_all(tokens, TokenRows{}, [&](int first, View logits) {
            if (first == 0) end();
            for (int i = 0; i < logits.rows; ++i, ++seen)
                EXPECT_LE(difference({logits.row(i), static_cast<std::size_t>(logits.cols)}, expected[seen]), 1e-4);
        });
        EXPECT_EQ(seen, tokens.size());
    };
    auto session = std::make_unique<Session>(model, SessionOptions{12, 4});
    expect_all(*session, [&] { session.reset(); });
    Session replaced(model, {12, 4});
    expect_all(replaced, [&] { replaced = Session(model, {3}); });
    EXPECT_EQ(replaced.capacity(), 3);
    EXPECT_EQ(replaced.size(), 0);
}

TEST(OneCallAtATime, ACallbackIsNeeded) {
    const Model model = random_model(small_blueprint(), "none", 20);
    Session session(model);
    expect_error(ErrorCode::usage, "callback",
                 [&] { session.feed_all(random_tokens(3, small_vocab, 1), TokenRows{}, {}); });
    EXPECT_EQ(session.size(), 0);
}

} // namespace
} // namespace ordo
