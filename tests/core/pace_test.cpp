// SPDX-License-Identifier: MIT
// The choice between a team and a single thread, with made-up times: the faster way runs, and the other is tried
// rarely.
#include "core/pace.h"

#include <gtest/gtest.h>

namespace ordo {
namespace {

constexpr double us = 1e-6;

// Runs passes that take this long with a team and alone, and returns the number that ran alone.
int passes(Pace& pace, int count, double team_seconds, double alone_seconds) {
    int alone = 0;
    for (int i = 0; i < count; ++i) {
        alone += pace.alone() ? 1 : 0;
        pace.add(pace.alone() ? alone_seconds : team_seconds);
    }
    return alone;
}

TEST(Pace, GivesATeamUpThatIsSlower) {
    Pace pace;
    EXPECT_EQ(passes(pace, Pace::first_rest, 50 * us, 30 * us), 0);
    EXPECT_EQ(passes(pace, 1 + Pace::first_rest, 50 * us, 30 * us), 1 + Pace::first_rest);
    const int others = 1000 - passes(pace, 1000, 50 * us, 30 * us);
    EXPECT_GT(others, 0) << "the team is tried again";
    EXPECT_LE(others, 3 * Pace::tries) << "but seldom: after 4, 32, 256 passes";
}

TEST(Pace, KeepsATeamThatIsFaster) {
    Pace pace;
    const int alone = passes(pace, 1000, 50 * us, 80 * us);
    EXPECT_GT(alone, 0);
    EXPECT_LE(alone, 3 * Pace::tries);
    EXPECT_FALSE(pace.alone());
}

TEST(Pace, TakesATeamBackWhenPassesHaveBecomeLong) {
    Pace pace;
    passes(pace, 20, 50 * us, 30 * us);
    ASSERT_TRUE(pace.alone());
    passes(pace, Pace::most_rest + Pace::tries, 300 * us, 500 * us);
    EXPECT_FALSE(pace.alone());
}

TEST(Pace, LongPassesAreNotTriedAlone) {
    Pace pace;
    EXPECT_EQ(passes(pace, 10000, 2 * Pace::longest, 1 * us), 0);
    EXPECT_GT(passes(pace, 100, 50 * us, 30 * us), 50) << "until they are short";
}

// A single delayed pass among those compared does not change the choice.
TEST(Pace, APassThatWasHeldUpDecidesNothing) {
    for (int held_up = 0; held_up < 40; ++held_up) {
        Pace pace;
        for (int i = 0; i < 40; ++i) {
            const double stall = i == held_up ? 500 * us : 0;
            pace.add(stall + (pace.alone() ? 60 * us : 50 * us));
        }
        EXPECT_FALSE(pace.alone()) << held_up;
    }
}

// Seconds of passes of two threads, of which each `period`-th waits 3 ms for a processor; one thread never waits.
double stalled(int count, int period) {
    Pace pace;
    double all = 0;
    for (int i = 0; i < count; ++i) {
        const double seconds = pace.alone() ? 250 * us : 160 * us + (i % period == 0 ? 3000 * us : 0);
        pace.add(seconds);
        all += seconds;
    }
    return all;
}

TEST(Pace, StallsAreWeighedAgainstTheGainOfATeam) {
    EXPECT_LT(stalled(4000, 20), 4000 * 260 * us) << "310 us on average, and 250 alone";
    EXPECT_LT(stalled(400, 20), 400 * 275 * us) << "also in a short text";
    EXPECT_LT(stalled(4000, 100), 4000 * 195 * us) << "190 us on average";
}

} // namespace
} // namespace ordo
