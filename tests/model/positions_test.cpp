// SPDX-License-Identifier: MIT
// Positions given by the caller, on one axis and on several, and sessions whose encodings depend on the session's
// text_tokens.
#include "encoding/base/registry.h"
#include "tests/encoding/accepts.h"
#include "tests/expect_error.h"
#include "tests/model/small_models.h"

#include <gtest/gtest.h>

namespace ordo {
namespace {

constexpr int text_tokens = 30;

Blueprint grouped() {
    Blueprint b = small_blueprint();
    b.n_kv_heads = 2;
    return b;
}

Rows expected(const Model& model, const std::vector<Token>& tokens, const std::vector<int>& positions, int axes = 1,
              int session_length = 0) {
    const Blueprint& b = blueprint_of(model);
    const reference::Tensors tensors = tensors_of(model);
    const reference::Oracles oracles(model.encoding(), b.dims(), tensors,
                                     session_length == 0 ? static_cast<int>(tokens.size()) : session_length);
    EXPECT_TRUE(oracles.complete()) << oracles.advice();
    return to_rows(reference::Transformer(b, tensors, oracles).logits({tokens, positions, {}, axes, {}, {}, true}));
}

// Feeds the tokens in pieces of `piece` tokens, each with its positions.
Rows fed(Session& session, const std::vector<Token>& tokens, Positions positions, std::size_t piece) {
    Rows rows;
    for (std::size_t first = 0; first < tokens.size(); first += piece) {
        const std::size_t n = std::min(piece, tokens.size() - first);
        session.feed_all(std::span(tokens).subspan(first, n), TokenRows{positions.subspan(first, n), {}},
                         [&](int, View logits) {
                             for (int i = 0; i < logits.rows; ++i)
                                 rows.emplace_back(logits.row(i), logits.row(i) + logits.cols);
                         });
    }
    return rows;
}

// Gaps, documents packed one after the other, repeats, and any order.
std::vector<std::pair<std::string, std::vector<int>>> layouts() {
    std::vector<std::pair<std::string, std::vector<int>>> all = {
        {"gaps", {}}, {"packed", {}}, {"repeats", {}}, {"mixed", {}}};
    for (int i = 0; i < text_tokens; ++i) {
        all[0].second.push_back(2 * i + i / 7);
        all[1].second.push_back(i % 11);
        all[2].second.push_back(i / 3);
        all[3].second.push_back((i * 17 + 5) % 64);
    }
    return all;
}

class GivenPositions : public ::testing::TestWithParam<std::string> {};

TEST_P(GivenPositions, AgreeWithTheOracle) {
    for (const Mask mask : {Mask::causal, Mask::bidirectional}) {
        Blueprint b = grouped();
        b.mask = mask;
        if (!accepts(GetParam(), b.dims())) continue;
        const Model model = random_model(b, GetParam(), 71);
        const std::vector<Token> tokens = random_tokens(text_tokens, b.vocab_size, 72);
        for (const auto& [name, positions] : layouts()) {
            const Rows oracle = expected(model, tokens, positions);
            for (const std::size_t piece : {std::size_t{1}, std::size_t{9}, tokens.size()}) {
                if (mask == Mask::bidirectional && piece != tokens.size()) continue;
                Session session(model, {text_tokens, 7});
                EXPECT_LE(difference(fed(session, tokens, positions, piece), oracle), 2e-4) << name << " by " << piece;
            }
        }
    }
}

std::vector<std::string> encodings() {
    std::vector<std::string> specs = {
        "kerple:kernel=power", "fire:threshold=10",     "alibi:penalty=exponential,length=20", "t5+rope", "forget+rope",
        "cope+alibi",          "abacus:first=0,last=60"};
    for (const EncodingInfo* info : registered_encodings()) specs.emplace_back(info->name);
    return specs;
}

INSTANTIATE_TEST_SUITE_P(Encodings, GivenPositions, ::testing::ValuesIn(encodings()), [](const auto& spec) {
    std::string name = spec.param;
    for (char& c : name)
        if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
    return name;
});

TEST(PositionsOfSessions, GoOnFromTheLastThatWasGiven) {
    const Model model = random_model(grouped(), "rope", 73);
    const std::vector<Token> tokens = random_tokens(text_tokens, 101, 74);
    std::vector<int> positions;
    for (int i = 0; i < text_tokens; ++i) positions.push_back(i < 6 ? 3 * i : i < 20 ? 10 + i : 100 + i);
    const Rows oracle = expected(model, tokens, positions);
    Session session(model, {text_tokens, 5, 0});
    const std::span<const int> ids(positions);
    session.feed(std::span(tokens).first(6), TokenRows{ids.first(6), {}}); // positions up to 15
    session.feed(std::span(tokens).subspan(6, 14));                        // positions from 16 on
    const std::span<const float> last = session.feed(std::span(tokens).subspan(20), TokenRows{ids.subspan(20), {}});
    EXPECT_LE(difference(last, oracle.back()), 1e-4);
    session.rewind(12); // the next position follows that of the last kept token
    session.feed(std::span(tokens).subspan(12, 8));
    EXPECT_LE(difference(session.feed(std::span(tokens).subspan(20), TokenRows{ids.subspan(20), {}}), oracle.back()),
              1e-4);
}

TEST(PositionsOfSessions, HaveAsManyAxesAsTheSession) {
    Blueprint b = grouped();
    b.d_head = 12;
    const std::vector<Token> tokens = random_tokens(text_tokens, b.vocab_size, 75);
    std::vector<int> planes; // a picture with rows of five
    for (int i = 0; i < text_tokens; ++i) planes.insert(planes.end(), {i / 5, i % 5});
    for (const char* spec :
         {"rope:sections=4/2", "rope:pairing=halves,sections=3/3", "rope:sections=3/3+t5", "alibi"}) {
        const Model model = random_model(b, spec, 76);
        const Rows oracle = expected(model, tokens, planes, 2);
        for (const std::size_t piece : {1, 8, text_tokens}) {
            Session session(model, {.capacity = text_tokens, .chunk = 7, .axes = 2});
            EXPECT_LE(difference(fed(session, tokens, Positions(planes, 2), piece), oracle), 2e-4) << spec << piece;
        }
        // In a batch with a session that continues as text does: from its greatest position, on all axes.
        std::vector<int> as_text(planes.begin(), planes.begin() + 40);
        for (int i = 20; i < text_tokens; ++i) as_text.insert(as_text.end(), 2, 4 + i - 19);
        as_text[38] = as_text[39] = 4;
        const Rows text = expected(model, tokens, as_text, 2);
        Session one(model, {.capacity = text_tokens, .axes = 2}), two(model, {.capacity = text_tokens, .axes = 2});
        one.feed(std::span(tokens).first(20), TokenRows{Positions(planes, 2).subspan(0, 20), {}});
        two.feed(std::span(tokens).first(20), TokenRows{Positions(as_text, 2).subspan(0, 20), {}});
        Batch batch(model, 2, text_tokens);
        Session* const both[] = {&one, &two};
        for (std::size_t i = 20; i < text_tokens; ++i) {
            const Token next[] = {tokens[i], tokens[i]};
            const std::vector<int> ids = {planes[2 * i], planes[2 * i + 1], as_text[2 * i], as_text[2 * i + 1]};
            const View logits = batch.feed(both, next, TokenRows{Positions(ids, 2), {}});
            const auto n = static_cast<std::size_t>(logits.cols);
            EXPECT_LE(difference({logits.row(0), n}, oracle[i]), 2e-4) << spec << i;
            EXPECT_LE(difference({logits.row(1), n}, text[i]), 2e-4) << spec << i;
        }
        two.rewind(20);
        EXPECT_LE(difference(two.feed(std::span(tokens).subspan(20)), text.back()), 2e-4) << spec;
    }
}

TEST(PositionsOfSessions, AreRefusedWhereTheyDoNotFit) {
    const Model model = random_model(grouped(), "learned", 77); // of a context of 96
    const Token tokens[] = {1, 2};
    for (const int axes : {0, -1, 17, std::numeric_limits<int>::max()})
        expect_error(ErrorCode::usage, "session: axes: expected 1 to 16",
                     [&] { Session s(model, {.capacity = 5, .axes = axes}); });
    Session session(model, {5});
    const auto refused = [&](ErrorCode code, const std::string& phrase, const std::vector<int>& ids, int axes = 1) {
        expect_error(code, phrase, [&] { session.feed(tokens, TokenRows{Positions(ids, axes), {}}); });
        EXPECT_EQ(session.size(), 0);
    };
    refused(ErrorCode::usage, "1 position ids for each of 2 tokens, found 1", {3});
    refused(ErrorCode::usage, "1 position ids for each of 2 tokens, found 3", {3, 4, 5});
    refused(ErrorCode::usage, "positions of 1 axes, as it was made for, found 2", {3, 4, 5, 6}, 2);
    refused(ErrorCode::usage, "found 0", {3, 4}, 0);
    refused(ErrorCode::limit, "positions from 0 to 95, found -1", {0, -1});
    refused(ErrorCode::limit, "positions from 0 to 95, found 96", {0, 96});
    const std::vector<int> end = {94, 95};
    session.feed(tokens, TokenRows{end, {}});
    expect_error(ErrorCode::limit, "positions below 96, found 96", [&] { session.feed({tokens, 1}); });
    Session plane(model, {.capacity = 5, .axes = 2}), line(model, {5});
    Batch batch(model, 2, 5);
    Session* const both[] = {&line, &plane};
    expect_error(ErrorCode::usage, "session 1: expected positions of 1 axes", [&] { batch.feed(both, tokens); });
    Session* const one[] = {&line};
    const std::vector<int> ids = {1, 2};
    expect_error(ErrorCode::usage, "1 position ids for each of 1 tokens, found 2", [&] {
        batch.feed(one, {tokens, 1}, TokenRows{ids, {}});
    });
    expect_error(ErrorCode::usage, "position ids", [&] {
        batch.feed(one, {tokens, 1}, TokenRows{Positions(ids, 0), {}});
    });
    EXPECT_EQ(line.size(), 0);
}

// ---- Lengths --------------------------------------------------------------------------------

const std::string by_length[] = {"rope:scaling=dynamic,factor=2,original=40",
                                 "rope:scaling=longrope,original=40,factor=2,short=1/1.5/2/2/3,long=1/3/4/5/9",
                                 "pattern((rope:scaling=dynamic,factor=4,original=40),none)+alibi"};

TEST(LengthsOfSessions, AreWhatTheOracleIsTold) {
    for (const std::string& spec : by_length) {
        const Model model = random_model(grouped(), spec, 78); // of a context of 96
        const std::vector<Token> tokens = random_tokens(text_tokens, 101, 79);
        std::vector<int> positions;
        for (int i = 0; i < text_tokens; ++i) positions.push_back(i);
        std::vector<Rows> found;
        const bool by_text = spec.find("longrope") != spec.npos; // longrope ignores the capacity
        for (const int capacity : {30, 40, 41, 60, 96, 200}) {
            Session session(model, {capacity, 8});
            found.push_back(logits_of(session, tokens));
            const Rows oracle = expected(model, tokens, positions, 1, by_text ? text_tokens : capacity);
            EXPECT_LE(difference(found.back(), oracle), 2e-4) << spec << capacity;
        }
        EXPECT_EQ(difference(found[0], found[1]), 0) << spec; // up to the original text_tokens nothing changes
        EXPECT_EQ(difference(found[1], found[2]) > 1e-4, !by_text) << spec;
    }
}

TEST(LengthsOfSessions, ShareWhatIsTheSame) {
    for (const std::string& spec : by_length) {
        const Model model = random_model(grouped(), spec, 80);
        const Model::Impl& m = impl_of(model);
        EXPECT_EQ(m.encodings_for(96).encodings.get(), &m.encodings) << spec;
        const auto fifty = m.encodings_for(50).encodings, again = m.encodings_for(50).encodings,
                   thirty = m.encodings_for(30).encodings;
        EXPECT_EQ(fifty, again) << spec;
        EXPECT_NE(fifty, thirty) << spec;
        EXPECT_EQ(thirty, m.encodings_for(40).encodings) << spec;
        EXPECT_NE(thirty.get(), &m.encodings) << spec;
        // Tables are as long as the text needs, and not as those of others.
        EXPECT_GE(m.encodings_for(96, 1000).positions, 1000) << spec;
        EXPECT_EQ(m.encodings_for(30).positions, 96) << spec;
        const EncodingsAtLength extended = m.encodings_for(30, 1000);
        EXPECT_GE(extended.positions, 1000) << spec;
        EXPECT_EQ(extended.encodings, m.encodings_for(30, 500).encodings) << spec;
    }
    // After a session is gone, neither its tables nor their names are kept.
    const Model model = random_model(grouped(), by_length[0], 81);
    for (int capacity = 41; capacity < 90; ++capacity) Session(model, {capacity});
    Session last(model, {95});
    EXPECT_LE(impl_of(model).stand_ins.size(), 1u);
}

TEST(LengthsOfSessions, LiveOnWhenTheirModelIsMoved) {
    Model model = random_model(grouped(), by_length[0], 82);
    const std::vector<Token> tokens = random_tokens(text_tokens, 101, 83);
    Session before(model, {50});
    const Model moved = std::move(model);
    Session after(moved, {50});
    EXPECT_EQ(difference(logits_of(before, tokens), logits_of(after, tokens)), 0);
    Batch batch(moved, 2, 50);
    Session* const both[] = {&before, &after};
    const Token next[] = {1, 1};
    const View logits = batch.feed(both, next);
    const auto n = static_cast<std::size_t>(logits.cols);
    EXPECT_EQ(difference({logits.row(0), n}, {logits.row(1), n}), 0);
}

TEST(LengthsOfSessions, MayDifferInABatch) {
    const std::vector<Token> tokens = random_tokens(text_tokens, 101, 84);
    for (const std::string& spec : by_length) {
        const Model model = random_model(grouped(), spec, 85);
        Session short_one(model, {40}), long_one(model, {60}), alone_short(model, {40}), alone_long(model, {60});
        Batch batch(model, 2, 96);
        Session* const unlike[] = {&short_one, &long_one};
        for (const Token token : tokens) {
            // The batch uses each session's text_tokens, not its own.
            const Token next[] = {token, token};
            const View logits = batch.feed(unlike, next);
            int i = 0;
            for (Session* alone : {&alone_short, &alone_long}) {
                const std::span<const float> row = alone->feed({&token, 1});
                ASSERT_LE(difference({logits.row(i++), row.size()}, row), 1e-4) << spec;
            }
        }
    }
}

// The caller's own encoding, which violates its contract.
class Changing final : public Encoding {
public:
    explicit Changing(unsigned reads) : reads_(reads) {}
    std::string spec() const override { return "changing"; }
    unsigned moments() const override { return moment_bias; }
    unsigned reads() const override { return reads_; }
    AtLength at_length(int, int) const override { return {std::make_unique<Changing>(reads_keys)}; }

private:
    unsigned reads_;
};

TEST(LengthsOfSessions, MayNotChangeWhatAnEncodingReads) {
    std::vector<OwnEncoding> items;
    items.push_back(std::make_unique<Changing>(0));
    const Blueprint b = small_blueprint();
    const Model model = random_model(b, ModelEncodings(std::move(items), b.n_layers), 2);
    expect_error(ErrorCode::usage, "changing: expected the same moments, places, tensors, state and reach",
                 [&] { Session s(model, {5}); });
}

} // namespace
} // namespace ordo
