// SPDX-License-Identifier: MIT
#include "core/random.h"
#include "core/utf8.h"
#include "model/text_stream.h"

#include <gtest/gtest.h>

namespace ordo {
namespace {

using State = TextStream::State;

// Feeds the pieces and collects the output.
struct Trial {
    std::vector<std::string> out;
    State state = State::open;
    std::string text;

    Trial(const std::vector<std::string>& stop, const std::vector<std::string>& pieces, std::size_t cancel_at = 1000) {
        const TextStream::Sink sink = [&](std::string_view part) {
            out.emplace_back(part);
            return out.size() < cancel_at;
        };
        TextStream stream(stop, sink);
        for (const std::string& piece : pieces)
            if ((state = stream.append(piece)) != State::open) break;
        state = stream.finish();
        for (const std::string& piece : pieces) text += piece;
        text.resize(stream.passed());
    }
    std::string joined() const {
        std::string all;
        for (const std::string& part : out) all += part;
        return all;
    }
};

TEST(TextStream, PassesOnWholeSequencesOnly) {
    const Trial t({}, {"a", "\xc3", "\xa9", "\xf0\x9f", "\x98", "\x80", "z"}); // a, e acute, a face, z
    EXPECT_EQ(t.out, (std::vector<std::string>{"a", "\xc3\xa9", "\xf0\x9f\x98\x80", "z"}));
    EXPECT_EQ(t.text, t.joined());
    EXPECT_EQ(t.state, State::open);
}

TEST(TextStream, PassesOnBytesThatCanNeverBecomeText) {
    const Trial t({}, {"\xff", "a\x80", "\xc3", "x"});
    EXPECT_EQ(t.joined(), "\xff"
                          "a\x80\xc3x");
}

TEST(TextStream, LeavesOutASequenceThatTheEndCutsShort) {
    EXPECT_EQ(Trial({}, {"ab\xe2\x82"}).joined(), "ab");
    EXPECT_EQ(Trial({}, {"\xf0\x9f\x98"}).out.size(), 0u);
}

TEST(TextStream, StopsBeforeAStopText) {
    const Trial t({"END", "stop"}, {"one sto", "ne ", "E", "N", "D two"});
    EXPECT_EQ(t.joined(), "one stone ");
    EXPECT_EQ(t.state, State::stopped);
}

TEST(TextStream, TheFirstStopTextInTheTextWins) {
    EXPECT_EQ(Trial({"bc", "abcd"}, {"xabcd"}).joined(), "x");
    EXPECT_EQ(Trial({"c", "b"}, {"abc"}).joined(), "a");
}

TEST(TextStream, ReleasesWhatTurnsOutNotToBeAStopText) {
    const Trial t({"aab"}, {"a", "a", "a", "c"});
    EXPECT_EQ(t.joined(), "aaac");
    EXPECT_EQ(Trial({"aab"}, {"a", "a", "a", "b"}).joined(), "a"); // the match starts at the second a
    EXPECT_EQ(Trial({"abc"}, {"xab"}).joined(), "xab");            // held back until the end
}

TEST(TextStream, HoldsBackNoMoreThanNeeded) {
    const Trial t({"\nUser:"}, {"hello", "\n", "Us", "e"});
    EXPECT_EQ(t.out.front(), "hello");
    EXPECT_EQ(t.joined(), "hello\nUse");
}

TEST(TextStream, AStopTextInsideASequenceLeavesNoFragment) {
    // The second byte of e acute is the stop text, so the text before it ends inside a character.
    const Trial t({"\xa9"}, {"ab\xc3\xa9z"});
    EXPECT_EQ(t.joined(), "ab");
    EXPECT_EQ(t.state, State::stopped);
    // A character may be held back because the stop text can begin inside it.
    EXPECT_EQ(Trial({"\xa9z"}, {"\xc3\xa9", "y"}).joined(), "\xc3\xa9y");
}

TEST(TextStream, AnEmptyStopTextIsRefused) {
    try {
        const TextStream::Sink none;
        TextStream stream({"a", ""}, none);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code, ErrorCode::usage);
    }
}

TEST(TextStream, TheSinkCanCancel) {
    const Trial t({}, {"a", "b", "c"}, 2);
    EXPECT_EQ(t.joined(), "ab");
    EXPECT_EQ(t.state, State::cancelled);
}

TEST(TextStream, WorksWithoutASink) {
    const TextStream::Sink none;
    TextStream stream({}, none);
    stream.append("abc");
    stream.finish();
    EXPECT_EQ(stream.passed(), 3u);
}

// However the bytes are cut, the output is the text before the first stop text.
TEST(TextStream, AnyCutGivesTheSameText) {
    const std::string alphabet[] = {"a", "b", "\xc3\xa9", "\xe2\x82\xac", "ab"};
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
        const Random random(seed, 0);
        std::string text, stop;
        for (std::uint64_t i = 0; i < 12; ++i) text += alphabet[random.below(i, 5)];
        for (std::uint64_t i = 0; i <= random.below(50, 3); ++i) stop += alphabet[random.below(100 + i, 5)];
        std::vector<std::string> pieces;
        for (std::size_t at = 0, i = 0; at < text.size(); ++i) {
            const std::size_t n = 1 + random.below(200 + i, 4);
            pieces.push_back(text.substr(at, n));
            at += n;
        }
        const Trial t({stop}, pieces);
        const std::size_t end = text.find(stop);
        ASSERT_EQ(t.joined(), text.substr(0, end)) << seed;
        ASSERT_EQ(t.state == State::stopped, end != std::string::npos) << seed;
        for (const std::string& part : t.out) ASSERT_TRUE(utf8_valid(part)) << seed;
    }
}

} // namespace
} // namespace ordo
