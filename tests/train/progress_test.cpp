// SPDX-License-Identifier: MIT
// The progress that a run shows.
#include "tests/tools/terminal.h"
#include "tests/train/small_run.h"
#include "tools/train/progress.h"

#include <chrono>
#include <thread>

namespace ordo::train {
namespace {

TEST(TrainingProgress, ABarSaysWhatThereIsRoomFor) {
    TrainingFigures f{
        .step = 120, .steps = 1000, .loss = 3.1234, .held_out = 3.4567, .rate = 12345, .seconds_left = 83.9};
    const std::string all = "120/1000  loss 3.123  held-out 3.457  12345 tokens/s  1:23 left";
    EXPECT_EQ(bar_text(f, 200), "[###...........................] " + all);
    EXPECT_EQ(bar_text(f, 79), "[#............] " + all);
    EXPECT_EQ(bar_text(f, 63), all);
    EXPECT_EQ(bar_text(f, 60), "[#.........] 120/1000  loss 3.123  held-out 3.457  1:23 left");
    EXPECT_EQ(bar_text(f, 47), "120/1000  loss 3.123  held-out 3.457  1:23 left");
    EXPECT_EQ(bar_text(f, 39), "120/1000  loss 3.123  1:23 left");
    EXPECT_EQ(bar_text(f, 20), "120/1000  1:23 left");
    EXPECT_EQ(bar_text(f, 8), "120/1000");
    EXPECT_EQ(bar_text(f, 3), "120");
    for (int columns = 0; columns < 120; ++columns)
        EXPECT_LE(bar_text(f, columns).size(), static_cast<std::size_t>(columns));
    f.held_out.reset();
    EXPECT_EQ(bar_text(f, 63), "[#............] 120/1000  loss 3.123  12345 tokens/s  1:23 left");
    f.seconds_left = 5;
    EXPECT_TRUE(bar_text(f, 200).ends_with("  0:05 left"));
}

// However the run ends, nothing of the bar remains and none of its lines wraps.
TEST_F(Training, TheBarIsGoneHoweverTheRunEnds) {
    struct Killed {};
    for (const int columns : {20, 40, 80, 200})
        for (const bool thrown : {false, true}) {
            Options o = options("run");
            o.progress = true;
            o.on_step = [&](std::int64_t step) {
                std::this_thread::sleep_for(std::chrono::milliseconds(60)); // the bar is drawn ten times a second
                if (step == 8 && thrown) throw Killed();
                if (step == 8) interrupt();
            };
            const test::Watched watched = test::watch(columns, [&] {
                try {
                    run(o);
                } catch (const Killed&) {
                }
            });
            EXPECT_EQ(watched.code, 0);
            EXPECT_EQ(watched.screen.floods(), 0) << watched.written;
            EXPECT_EQ(watched.screen.lines(), std::vector<std::string>());
            EXPECT_EQ(watched.written.find("held-out 0.000"), std::string::npos);
            EXPECT_NE(watched.written.find("/12"), std::string::npos) << watched.written;
            if (columns >= 80) {
                EXPECT_LT(watched.written.find("loss"), watched.written.find("held-out")) << watched.written;
            }
        }
}

TEST_F(Training, OffATerminalThereIsALineForEachEvaluation) {
    Options o = options("run");
    o.progress = true;
    testing::internal::CaptureStderr();
    run(o);
    const std::string shown = testing::internal::GetCapturedStderr();
    EXPECT_EQ(std::count(shown.begin(), shown.end(), '\n'), 2) << shown;
    EXPECT_EQ(shown.find_first_of("\r\033"), std::string::npos) << shown;
    EXPECT_TRUE(shown.starts_with("ordo: step 6/12: loss ")) << shown;
    const std::string last = shown.substr(shown.find('\n') + 1);
    EXPECT_TRUE(last.starts_with("ordo: step 12/12: loss ")) << shown;
    EXPECT_NE(shown.find(" left\n"), std::string::npos) << shown;
    EXPECT_EQ(last.find(" left"), std::string::npos) << shown; // no time is left
    o.progress = false;
    testing::internal::CaptureStderr();
    run(o);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

// Off a terminal, the remaining time appears before the first evaluation.
TEST_F(Training, OffATerminalTheTimeThatIsLeftIsSaidEarly) {
    Options o = options("run");
    o.progress = true;
    o.eval_every = 100;
    testing::internal::CaptureStderr();
    run(o);
    const std::string shown = testing::internal::GetCapturedStderr();
    EXPECT_EQ(std::count(shown.begin(), shown.end(), '\n'), 2) << shown;
    EXPECT_TRUE(shown.starts_with("ordo: step 11/12: loss ")) << shown; // the first step is not timed
    EXPECT_NE(shown.find(" tokens/s, 0:0"), std::string::npos) << shown;
    EXPECT_LT(shown.find(" left\n"), shown.find("held-out")) << shown;
}

} // namespace
} // namespace ordo::train
