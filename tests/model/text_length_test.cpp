// SPDX-License-Identifier: MIT
// Encodings whose angles depend on the length of the text: LongRoPE (Ding et al. 2024). It uses short factors up to the
// original context, and long factors for all tokens of a longer text. There, Hugging Face's Phi-3 drops its cache and
// feeds the text again. The expected values come from the oracle in double precision, tests/oracles/rope.cpp, given the
// length of the text.
#include "model/continuation.h"
#include "tests/model/small_models.h"

#include <gtest/gtest.h>

namespace ordo {
namespace {

constexpr int original = 40;
const std::string by_text = "rope:scaling=longrope,original=40,factor=2,short=1/1.5/2/2/3,long=1/3/4/5/9";
const std::string always_short = by_text + ",factors=short", always_long = by_text + ",factors=long";
const std::string by_session = "rope:scaling=dynamic,factor=2,original=40";

Model model_of(const std::string& spec, const Blueprint& b = small_blueprint()) {
    return random_model(b, spec, 61); // of a context of 96
}

std::vector<float> last(Session& session, std::span<const Token> tokens, const TokenRows& rows = {}) {
    const std::span<const float> logits = session.feed(tokens, rows);
    return {logits.begin(), logits.end()};
}

// The oracle's logits after the last of the tokens, for a text of this length.
std::vector<float> expected(const Model& model, std::span<const Token> tokens, int length) {
    const Blueprint& b = blueprint_of(model);
    const reference::Tensors tensors = tensors_of(model);
    const reference::Oracles oracles(model.encoding(), b.dims(), tensors, length);
    reference::Input in{{tokens.begin(), tokens.end()}, {}, {}};
    for (std::size_t i = 0; i < tokens.size(); ++i) in.positions.push_back(static_cast<int>(i));
    return to_rows(reference::Transformer(b, tensors, oracles).logits(in)).back();
}

class TextLength : public ::testing::Test {
protected:
    std::span<const Token> first(std::size_t n) const { return std::span(tokens_).first(n); }
    std::span<const Token> some(std::size_t from, std::size_t n) const { return std::span(tokens_).subspan(from, n); }

    const Model model_ = model_of(by_text), short_ = model_of(always_short), long_ = model_of(always_long);
    const std::vector<Token> tokens_ = random_tokens(90, 101, 62);
};

TEST_F(TextLength, DecidesWhateverTheCapacity) {
    for (const std::size_t n : {30u, 40u, 41u, 60u})
        for (const int capacity : {0, 60, 96, 200}) {
            Session session(model_, {capacity, 8});
            const std::vector<float> found = last(session, first(n));
            EXPECT_LE(difference(found, expected(model_, first(n), static_cast<int>(n))), 2e-4) << n << ' ' << capacity;
            Session same(n <= original ? short_ : long_, {.capacity = 90});
            EXPECT_EQ(difference(found, last(same, first(n))), 0) << n << ' ' << capacity;
        }
    Session by_short(short_), by_long(long_);
    EXPECT_GT(difference(last(by_short, first(30)), last(by_long, first(30))), 1e-3);
}

TEST_F(TextLength, RecomputesOnceWhereATextPassesTheOriginalContext) {
    Session session(model_, {.chunk = 7});
    last(session, first(30));
    for (std::size_t n = 31; n < 60; ++n) {
        const std::vector<float> found = last(session, some(n - 1, 1));
        EXPECT_LE(difference(found, expected(model_, first(n), static_cast<int>(n))), 2e-4) << n;
        Session at_once(model_, {.chunk = 64});
        EXPECT_EQ(difference(found, last(at_once, first(n))), 0) << n;
    }
}

// The session knows the whole length before the first chunk.
TEST_F(TextLength, IsTheSameForEveryChunk) {
    std::vector<Rows> found;
    for (const int chunk : {1, 8, 64}) {
        Session session(model_, {.chunk = chunk});
        found.push_back(logits_of(session, {tokens_.begin(), tokens_.begin() + 60}));
        EXPECT_EQ(difference(found.back(), found.front()), 0) << chunk;
    }
    Session pieces(model_);
    Rows rows;
    for (std::size_t at = 0; at < 60; at += 15)
        pieces.feed_all(some(at, 15), TokenRows{{}, {}, {}, static_cast<int>(45 - at)}, [&](int, View logits) {
            for (int i = 0; i < logits.rows; ++i) rows.emplace_back(logits.row(i), logits.row(i) + logits.cols);
        });
    EXPECT_EQ(difference(rows, found.front()), 0);
    EXPECT_THROW(pieces.feed(first(1), TokenRows{{}, {}, {}, -1}), Error);
}

TEST_F(TextLength, ShrinksWithRewind) {
    Session session(model_), fresh(model_);
    last(session, first(60));
    session.rewind(30);
    EXPECT_EQ(difference(last(session, some(30, 5)), last(fresh, first(35))), 0);
    session.rewind(0);
    EXPECT_EQ(difference(last(session, first(50)), last(fresh, some(35, 15))), 0);
}

TEST_F(TextLength, KeepsItsAnglesWhenTokensAreEvicted) {
    Session session(model_), always(long_);
    for (Session* s : {&session, &always}) {
        last(*s, first(60));
        s->evict(4, 40);
    }
    for (std::size_t n = 60; n < 90; ++n) ASSERT_EQ(difference(last(session, some(n, 1)), last(always, some(n, 1))), 0);

    // Recomputing the rest of a short text loses the information from evicted tokens.
    Session growing(model_), until(short_), anew(model_);
    for (Session* s : {&growing, &until}) {
        last(*s, first(38));
        s->evict(0, 20);
        last(*s, some(38, 20));
    }
    EXPECT_EQ(difference(last(growing, some(58, 2)), last(until, some(58, 2))), 0);
    EXPECT_EQ(difference(last(growing, some(60, 3)), last(anew, some(20, 43))), 0);
}

TEST_F(TextLength, IsAsBeforeAfterACallThatFails) {
    Session session(model_, {.chunk = 9}), fresh(model_);
    last(session, first(30));
    const auto failing = [](int, View) { throw std::runtime_error("no"); };
    EXPECT_THROW(session.feed_all(some(30, 30), TokenRows{}, failing), std::runtime_error);
    EXPECT_EQ(session.size(), 30);
    EXPECT_EQ(difference(last(session, some(30, 5)), last(fresh, first(35))), 0);
    EXPECT_THROW(session.feed_all(some(35, 30), TokenRows{}, failing), std::runtime_error);
    session.rewind(20);
    fresh.rewind(0);
    EXPECT_EQ(difference(last(session, some(20, 30)), last(fresh, first(50))), 0);
}

TEST_F(TextLength, IsComputedAgainInACacheThatForgets) {
    Blueprint b = small_blueprint();
    b.window = 11;
    const Model windows = model_of(by_text, b);
    Session forgets(windows, {.chunk = 5, .forget_past_windows = true}), keeps(windows);
    last(forgets, first(36));
    for (std::size_t n = 36; n < 60; ++n) last(forgets, some(n, 1));
    EXPECT_EQ(difference(last(forgets, some(60, 1)), last(keeps, first(61))), 0);
}

TEST_F(TextLength, CountsFromTheFirstPosition) {
    SessionOptions far;
    far.first_position = 1000;
    Session session(model_, far), same(short_, far);
    EXPECT_EQ(difference(last(session, first(30)), last(same, first(30))), 0);
    // As max(position_ids) + 1 in the reference implementation.
    std::vector<int> gaps;
    for (int i = 0; i < 30; ++i) gaps.push_back(2 * i);
    Session spread(model_), as_long(long_);
    EXPECT_EQ(difference(last(spread, first(30), TokenRows{gaps, {}}), last(as_long, first(30), TokenRows{gaps, {}})),
              0);
}

TEST_F(TextLength, MayDifferInABatch) {
    for (const Model& model : {std::cref(model_), std::cref(static_cast<const Model&>(short_))}) {
        Session a(model), b(model), c(model), alone_a(model), alone_b(model), alone_c(model);
        Batch batch(model, 3);
        for (Session* s : {&a, &alone_a}) last(*s, first(38));
        for (Session* s : {&b, &alone_b}) last(*s, first(50));
        for (Session* s : {&c, &alone_c}) last(*s, first(20));
        Session* const all[] = {&a, &b, &c};
        for (std::size_t n = 50; n < 56; ++n) { // the first of these tokens passes the original context
            const Token next[] = {tokens_[n], tokens_[n + 1], tokens_[n + 2]};
            const View logits = batch.feed(all, next);
            ASSERT_EQ(logits.rows, 3);
            Session* const alone[] = {&alone_a, &alone_b, &alone_c};
            for (int i = 0; i < 3; ++i) {
                const std::vector<float> row = last(*alone[i], {&next[i], 1});
                EXPECT_LE(difference({logits.row(i), row.size()}, row), 1e-4) << i << ' ' << n;
            }
        }
    }
}

TEST_F(TextLength, ShowsAnObserverEachTokenOnce) {
    Session session(model_, {.chunk = 10});
    std::vector<int> seen;
    session.watch({.states =
                       [&](int layer, int at, ConstView states) {
                           for (int i = 0; layer == 0 && i < states.rows; ++i) seen.push_back(at + i);
                       },
                   .weights = {}});
    last(session, first(30));
    last(session, some(30, 20));
    ASSERT_EQ(seen.size(), 50u);
    for (int i = 0; i < 50; ++i) EXPECT_EQ(seen[i], i);
}

TEST_F(TextLength, IsThatOfTheWholePromptInGenerate) {
    Blueprint b = small_blueprint();
    b.vocab_size = byte_vocabulary;
    for (const std::string& spec : {by_text, by_session})
        for (const int n : {12, 30, 60}) {
            const Model model = model_of(spec, b);
            const std::string prompt(static_cast<std::size_t>(n), 'a');
            Continuation::Options options;
            options.max_tokens = 4;
            Continuation continuation(model, prompt, options);
            std::vector<float> drawn;
            continuation.on_draw([&](std::span<const float> logits, Token) {
                if (drawn.empty()) drawn.assign(logits.begin(), logits.end());
            });
            while (continuation.feed_prompt(7)) {
            }
            continuation.step();
            std::vector<Token> tokens;
            if (model.start_of_text() >= 0) tokens.push_back(model.start_of_text());
            for (const Token token : model.encode(prompt)) tokens.push_back(token);
            const int room = static_cast<int>(tokens.size()) + options.max_tokens;
            EXPECT_EQ(continuation.capacity(), room);
            Session session(model, {.capacity = room});
            EXPECT_EQ(difference(drawn, last(session, tokens)), 0) << spec << ' ' << n;
            if (room <= original || spec == by_text) { // as logits does, which makes room for the prompt alone
                Session exact(model, {.capacity = static_cast<int>(tokens.size())});
                EXPECT_EQ(difference(drawn, last(exact, tokens)), 0) << spec << ' ' << n;
            }
        }
}

// The encoding keeps the length in its spec, even if the context would imply the same length.
TEST(LengthsOfSpecs, AreKept) {
    const Dims dims{.d_model = 10, .n_heads = 1, .d_head = 10, .n_layers = 1, .context = 96};
    const auto changes = [&](const std::string& spec) { return ModelEncodings(spec, dims).changes_beyond(90); };
    const auto stays = [&](const Encoding& encoding, int length) {
        return encoding.at_length(length, length).instead.encoding == nullptr;
    };
    EXPECT_EQ(changes(by_text), std::vector<int>{original});
    EXPECT_EQ(changes(by_session), std::vector<int>{});
    for (const std::string& spec : {always_short, always_long, by_session + ",length=96"}) {
        const auto encoding = std::move(make_encodings(spec, dims).at(0));
        EXPECT_TRUE(stays(*encoding, 5)) << spec;
        EXPECT_TRUE(stays(*encoding, 90)) << spec;
        EXPECT_EQ(changes(spec), std::vector<int>{}) << spec;
        EXPECT_TRUE(stays(*make_encodings(encoding->spec(), dims).at(0), 5)) << encoding->spec();
    }
    // One list for all lengths, as rope_freqs in a GGUF: nothing is recomputed.
    const std::string alike = "rope:scaling=longrope,original=40,short=1/2/3/4/5,long=1/2/3/4/5";
    EXPECT_TRUE(stays(*make_encodings(alike, dims).at(0), 5));
    EXPECT_EQ(changes(alike), std::vector<int>{});
}

} // namespace
} // namespace ordo
