// SPDX-License-Identifier: MIT
// Positions that encodings derive from the tokens (POSITIONS): in pieces, after a rewind, in batches, with padding,
// after an eviction, at their limit, and in training. Each is compared with the same ids given by the caller.
#include "tests/expect_error.h"
#include "tests/model/small_models.h"
#include "training/network.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>

namespace ordo {
namespace {

constexpr int text_tokens = 40;
constexpr Token line_break = 3;

// Writes the line and the column of each token into the scores and the embedding. A line break begins its line.
class Lines : public Encoding {
public:
    std::string spec() const override { return "lines"; }
    int position_axes() const override { return 2; }
    Limits limits() const override { return {.derived = 30}; }
    void positions(IdView ids, const TextRows& rows) const override {
        const int* last = rows.before;
        for (int i = 0; i < ids.rows; ++i) {
            const bool breaks = rows.tokens[i] == line_break;
            ids.row(i)[0] = (last ? last[0] : 0) + (breaks ? 1 : 0);
            ids.row(i)[1] = last && !breaks ? last[1] + 1 : 0;
            last = ids.row(i);
        }
    }
    void embed(View x, const TokenRows& rows) const override {
        for (int i = 0; i < x.rows; ++i)
            for (int axis = 0; axis < 2; ++axis)
                x.row(i)[axis] += 0.3f * static_cast<float>(rows.positions.at(i, axis));
    }
    void embed_backward(View, View, const TokenRows&, const Gradients&) const override {}
    void bias(View scores, const Tile& tile) const override {
        for (int i = 0; i < scores.rows; ++i)
            for (int j = 0; j < scores.cols; ++j)
                scores.row(i)[j] -= 0.1f * static_cast<float>(tile.queries.at(i, 0) - tile.keys.at(j, 0) +
                                                              2 * std::abs(tile.queries.at(i, 1) - tile.keys.at(j, 1)));
    }
};

std::vector<Token> text(std::uint64_t seed) {
    std::vector<Token> tokens = random_tokens(text_tokens, small_vocab, seed);
    for (Token& token : tokens)
        if (token % 7 == 0) token = line_break;
    return tokens;
}

// The line and the column, counted from the whole text. Padding has none.
std::vector<int> ids_of(std::span<const Token> tokens, std::span<const int> padding = {}) {
    std::vector<int> ids;
    int line = 0, column = 0;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        if (!padding.empty() && padding[i] != 0) {
            ids.insert(ids.end(), {0, 0});
            continue;
        }
        if (tokens[i] == line_break) ++line, column = 0;
        ids.insert(ids.end(), {line, column++});
    }
    return ids;
}

class DerivedPositions : public testing::Test {
protected:
    using Row = std::vector<float>;
    static Row copy(std::span<const float> row) { return {row.begin(), row.end()}; }
    static double difference(std::span<const float> a, std::span<const float> b) {
        double most = 0;
        for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(double{a[i]} - double{b[i]}));
        return most;
    }
    // The last logits of a session whose positions the caller gives.
    Row expected(std::span<const Token> tokens, std::span<const int> padding = {}) const {
        Session session(model_, {.capacity = text_tokens, .axes = 2});
        const std::vector<int> ids = ids_of(tokens, padding);
        return copy(session.feed(tokens, {.positions = {ids, 2}, .padding = padding}));
    }

    Model model_ = random_model(small_blueprint(), "none", 5).with_encoding(std::make_unique<Lines>());
    std::vector<Token> tokens_ = text(6), others_ = text(7);
};

TEST_F(DerivedPositions, FollowTheTextInPiecesAndAfterARewind) {
    const Row whole = expected(tokens_);
    for (const int piece : {1, 7, text_tokens}) {
        Session session(model_, {.capacity = text_tokens, .chunk = 3});
        session.feed(std::span(others_).first(20));
        session.rewind(0);
        Row last;
        for (int first = 0; first < text_tokens; first += piece)
            last = copy(session.feed(std::span(tokens_).subspan(first, std::min(piece, text_tokens - first))));
        EXPECT_LE(difference(last, whole), 1e-5) << piece;
        session.rewind(9);
        session.feed(std::span(others_).subspan(9, 11));
        session.rewind(9);
        EXPECT_LE(difference(session.feed(std::span(tokens_).subspan(9)), whole), 1e-5) << piece;
    }
}

TEST_F(DerivedPositions, BelongToEachSequenceOfABatch) {
    Session one(model_), two(model_);
    one.feed(std::span(tokens_).first(10));
    two.feed(std::span(others_).first(4));
    Batch batch(model_, 2);
    Session* const both[] = {&one, &two};
    for (std::size_t i = 0; i < 20; ++i) {
        const Token next[] = {tokens_[10 + i], others_[4 + i]};
        const View logits = batch.feed(both, next);
        const auto n = static_cast<std::size_t>(logits.cols);
        EXPECT_LE(difference({logits.row(0), n}, expected(std::span(tokens_).first(11 + i))), 1e-4) << i;
        EXPECT_LE(difference({logits.row(1), n}, expected(std::span(others_).first(5 + i))), 1e-4) << i;
    }
}

TEST_F(DerivedPositions, SkipPadding) {
    std::vector<int> padding(text_tokens);
    for (const int i : {0, 1, 8, 20, 21}) padding[i] = 1;
    Session session(model_);
    for (const int first : {0, 5, 20})
        session.feed(std::span(tokens_).subspan(first, first == 0   ? 5
                                                       : first == 5 ? 15
                                                                    : 19),
                     {.padding = std::span(padding).subspan(first, first == 0   ? 5
                                                                   : first == 5 ? 15
                                                                                : 19)});
    EXPECT_LE(difference(session.feed(std::span(tokens_).last(1)), expected(tokens_, padding)), 1e-5);
}

// Evicted tokens leave the ids of the others as they are, and the text goes on from its last token.
TEST_F(DerivedPositions, StayAfterAnEviction) {
    Blueprint b = small_blueprint();
    b.n_layers = 1; // keys and values then depend on their own token alone
    const Model model = random_model(b, "none", 5).with_encoding(std::make_unique<Lines>());
    Session session(model, {.capacity = text_tokens}), other(model, {.capacity = text_tokens, .axes = 2});
    session.feed(std::span(tokens_).first(30));
    ASSERT_TRUE(session.can_evict());
    session.evict(4, 17);
    const Row last = copy(session.feed(std::span(tokens_).last(10)));
    std::vector<Token> kept = tokens_;
    std::vector<int> ids = ids_of(tokens_);
    kept.erase(kept.begin() + 4, kept.begin() + 21);
    ids.erase(ids.begin() + 8, ids.begin() + 42);
    EXPECT_LE(difference(last, other.feed(kept, {.positions = {ids, 2}})), 1e-5);
}

TEST_F(DerivedPositions, GoOnFromThoseThatWereGiven) {
    Session session(model_, {.capacity = text_tokens, .axes = 2});
    std::vector<int> ids = ids_of(tokens_);
    for (std::size_t i = 0; i < ids.size(); i += 2) ids[i] += 9; // other lines
    const Row whole = copy(session.feed(tokens_, {.positions = {ids, 2}}));
    session.rewind(0);
    session.feed(std::span(tokens_).first(12), {.positions = Positions(ids, 2).subspan(0, 12)});
    EXPECT_LE(difference(session.feed(std::span(tokens_).subspan(12)), whole), 1e-5);
}

TEST_F(DerivedPositions, BeyondTheTableAreAnErrorThatChangesNothing) {
    Session session(model_);
    session.feed(std::span(tokens_).first(6));
    const int column = ids_of(std::span(tokens_).first(6)).back() + 1;
    const std::vector<Token> line(30, line_break + 1);
    expect_error(ErrorCode::limit,
                 "lines: token " + std::to_string(30 - column) + ": expected a derived position from 0 to 29, found 30",
                 [&] { session.feed(line); });
    const int far = 30;
    expect_error(ErrorCode::limit, "expected positions from 0 to 29, found 30", [&] {
        session.feed(std::span(line).first(1), {.positions = {{&far, 1}, 1}});
    });
    EXPECT_EQ(session.size(), 6);
    EXPECT_LE(difference(session.feed(std::span(tokens_).subspan(6)), expected(tokens_)), 1e-5);
}

TEST(DerivedPositionsOf, AbacusCountTheDigitsOfANumber) {
    const auto made = make_encodings("abacus:first=5,last=14,offset=20", {24, 3, 8, 2, 64});
    const std::vector<Token> tokens = {5, 14, 3, 7, 7, 8, 4, 15, 9};
    const auto ids_of = [&](const int* before, std::uint64_t draw) {
        std::vector<int> ids(tokens.size());
        made[0]->positions({ids.data(), static_cast<int>(ids.size()), 1, 1}, {tokens, before, draw});
        return ids;
    };
    const int third = 3;
    EXPECT_EQ(ids_of(nullptr, 0), (std::vector<int>{1, 2, 0, 1, 2, 3, 0, 0, 1}));
    EXPECT_EQ(ids_of(&third, 0), (std::vector<int>{4, 5, 0, 1, 2, 3, 0, 0, 1}));
    EXPECT_EQ(ids_of(nullptr, 6), (std::vector<int>{7, 8, 0, 7, 8, 9, 0, 0, 7}));
    EXPECT_EQ(ids_of(nullptr, 21), ids_of(nullptr, 0)); // 0 .. offset
    expect_error(ErrorCode::usage, "offset: expected at most length - 2 (98)", [] {
        make_encodings("abacus:offset=99", {24, 3, 8, 2, 64});
    });
    expect_error(ErrorCode::usage, "last: expected a token from first (48) on", [] {
        make_encodings("abacus:last=47", {24, 3, 8, 2, 64});
    });
}

// A step of training adds one random number to the places of all digits, and a loss outside training none.
TEST(DerivedPositionsOf, AbacusAreMovedByTrainingSteps) {
    Blueprint b = small_blueprint();
    b.context = 24;
    ModelEncodings plain("abacus:first=0,last=60,length=40", b.dims()),
        moved("abacus:first=0,last=60,length=40,offset=9", b.dims());
    Parameters parameters(b, plain);
    parameters.initialise(3);
    for (std::size_t i = 0; i < parameters.values().size(); ++i)
        parameters.values()[i] += static_cast<float>(0.2 * Random(11, 2).normal(i));
    Network of_plain(b, plain, parameters, 2, b.context), of_moved(b, moved, parameters, 2, b.context);
    const std::vector<Token> tokens = random_tokens(2 * b.context, 101, 1),
                             targets = random_tokens(2 * b.context, 101, 2);
    EXPECT_EQ(of_moved.loss({tokens, targets}), of_plain.loss({tokens, targets}));
    std::vector<double> of_offsets;
    for (int offset = 0; offset <= 9; ++offset) {
        std::vector<int> ids;
        for (int i = 0; i < 2 * b.context; ++i) {
            const int last = i % b.context == 0 ? 0 : ids.back();
            ids.push_back(tokens[i] > 60 ? 0 : last == 0 ? 1 + offset : last + 1);
        }
        of_offsets.push_back(of_plain.loss({tokens, targets, {}, ids}));
    }
    std::set<double> seen;
    for (std::uint64_t step = 0; step < 12; ++step) {
        const double loss = of_moved.loss_and_grad({tokens, targets}, {0, 4, step});
        EXPECT_NE(std::find(of_offsets.begin(), of_offsets.end(), loss), of_offsets.end()) << step;
        EXPECT_EQ(of_moved.loss_and_grad({tokens, targets}, {0, 4, step}), loss);
        seen.insert(loss);
    }
    EXPECT_GE(seen.size(), 3u);
}

} // namespace
} // namespace ordo
