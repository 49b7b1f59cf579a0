// SPDX-License-Identifier: MIT
// The files that the lab writes: those of one experiment, and the report of several.
#include "tests/lab/lab_run.h"
#include "tests/tools/child.h"
#include "tools/lab/report/report.h"

namespace {

using namespace ordo;
using namespace ordo::test;

lab::Result good(const lab::Request& request) {
    lab::Result result;
    result.answer = "seed " + std::to_string(request.seed);
    result.tables = {{"t", "a table", {{"n"}, {{std::int64_t{3}}}}}};
    result.pictures = {{"p", "a picture", "x", "y", lab::Curves{.series = {{.label = "s", .x = {1, 2}, .y = {2, 3}}}}}};
    return result;
}
lab::Result failing(const lab::Request&) {
    fail(ErrorCode::limit, "too <long>");
}
lab::Result silent(const lab::Request&) {
    return {};
}

int runs = 0;
lab::Result counting(const lab::Request& request) {
    ++runs;
    return good(request);
}

const lab::Experiment counting_experiment{.name = "counting", .summary = "counts", .details = "d", .run = counting};
const lab::Experiment good_experiment{.name = "good", .summary = "works", .details = "d", .run = good};
const lab::Experiment failing_experiment{.name = "failing", .summary = "fails", .details = "d", .run = failing};
const lab::Experiment silent_experiment{.name = "silent", .summary = "says nothing", .details = "d", .run = silent};

// Returns the exit code.
int write_report(const TempDir& directory, std::span<const lab::Experiment* const> list) {
    return lab::write_report(lab::test::arguments_of({"report", "x", "-q"}), directory.path(), list);
}

TEST(LabReport, OneFailureLosesNoneOfTheOthers) {
    const TempDir directory;
    put_file(directory / "mine.txt", "kept");
    const lab::Experiment* const list[] = {&failing_experiment, &good_experiment, &silent_experiment};
    EXPECT_EQ(lab::write_report(lab::test::arguments_of({"report", "x", "--seed", "5", "-q"}), directory.path(), list),
              1);
    const std::string page = file_content(directory / "index.html"), text = file_content(directory / "report.md");
    for (const std::string& all : {page, text}) {
        EXPECT_TRUE(has(all, "too &lt;long&gt;"));
        EXPECT_TRUE(has(all, "seed 5"));
        EXPECT_TRUE(has(all, "ordo lab good --seed 5"));
        // The error of the silent experiment, which has no answer.
        EXPECT_TRUE(has(all, "expected an answer to its question"));
    }
    for (const char* fact :
         {"CPUs, ", " used\nmemory: ", "system: ", "compiler: ", "date: 20", "BLAS: ", "kernels: "}) {
        EXPECT_TRUE(has(page, fact));
        EXPECT_TRUE(has(text, fact));
    }
    EXPECT_EQ(file_content(directory / "data" / "good-t.csv"), "n\n3\n");
    EXPECT_EQ(file_content(directory / "data" / "good-p.csv"), "series,x,y\ns,1,2\ns,2,3\n");
    EXPECT_TRUE(has(file_content(directory / "pictures" / "good-p.svg"), "<svg "));
    EXPECT_EQ(file_content(directory / "mine.txt"), "kept");
    const lab::Experiment* const one[] = {&good_experiment};
    EXPECT_EQ(write_report(directory, one), 0);
}

TEST(LabReport, ADirectoryThatCannotBeIsAnError) {
    const TempDir directory;
    put_file(directory / "file", "");
    const lab::Experiment* const list[] = {&counting_experiment};
    runs = 0;
    EXPECT_THROW(lab::write_report(lab::test::arguments_of({"report", "x", "-q"}), directory / "file", list), Error);
    EXPECT_EQ(runs, 0); // checked before minutes of work
}

// After Ctrl-C no further experiment starts, and the page shows the finished ones. The page of an earlier run stays.
TEST(LabReport, CtrlCEndsItWithWhatIsDone) {
    const TempDir directory;
    put_file(directory / "index.html", "complete");
    put_file(directory / "report.md", "complete");
    const Outcome outcome =
        run_program({"lab", "report", directory.path().string(), "--quick"},
                    {.signal = SIGINT, .signal_file = (directory / "data/order-answers.csv").string()});
    EXPECT_EQ(outcome.code, 130) << outcome.err;
    EXPECT_FALSE(outcome.died);
    for (const char* name : {"index.partial.html", "report.partial.md"}) {
        EXPECT_TRUE(has(file_content(directory / name), "stopped by a signal")) << name;
        EXPECT_TRUE(has(outcome.out, name));
    }
    EXPECT_EQ(file_content(directory / "index.html"), "complete");
    EXPECT_EQ(file_content(directory / "report.md"), "complete");
}

// A complete report replaces an interrupted one.
TEST(LabReport, LeavesNoPartOfAnEarlierRun) {
    const TempDir directory;
    put_file(directory / "index.partial.html", "part");
    put_file(directory / "report.partial.md", "part");
    const lab::Experiment* const list[] = {&good_experiment};
    EXPECT_EQ(write_report(directory, list), 0);
    EXPECT_FALSE(std::filesystem::exists(directory / "index.partial.html"));
    EXPECT_FALSE(std::filesystem::exists(directory / "report.partial.md"));
}

TEST(LabReport, WritesThroughNoLink) {
    namespace fs = std::filesystem;
    const TempDir directory, theirs;
    fs::create_directory(directory / "data");
    fs::create_directory(directory / "pictures");
    const std::string names[] = {".ordo-report",    "index.html",      "report.md",
                                 "data/good-t.csv", "data/good-p.csv", "pictures/good-p.svg"};
    for (std::size_t i = 0; i < std::size(names); ++i) {
        put_file(theirs / std::to_string(i), "theirs");
        fs::create_symlink(theirs / std::to_string(i), directory / names[i]);
    }
    const lab::Experiment* const list[] = {&good_experiment};
    EXPECT_EQ(write_report(directory, list), 0);
    for (std::size_t i = 0; i < std::size(names); ++i) {
        EXPECT_EQ(file_content(theirs / std::to_string(i)), "theirs") << names[i];
        EXPECT_EQ(fs::is_symlink(directory / names[i]), i == 0) << names[i]; // the first is not a file of the report
    }
    fs::remove_all(directory / "pictures");
    fs::create_directory_symlink(theirs.path(), directory / "pictures");
    EXPECT_EQ(error_of([&] { write_report(directory, list); }),
              (directory / "pictures").string() + ": expected a folder, found a link");
}

TEST(LabFiles, AreThePicturesAndAllNumbers) {
    const TempDir directory;
    const Outcome outcome = run_program({"lab", "circle", "--format", "csv", "--out", (directory / "o u't").string()});
    expect_success(outcome);
    EXPECT_TRUE(outcome.out.starts_with("# tips: "));
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory / "o u't"))
        names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    EXPECT_EQ(names, (std::vector<std::string>{"circle-arrows.csv", "circle-arrows.svg", "circle-tips.csv"}));
    EXPECT_TRUE(file_content(directory / "o u't/circle-arrows.csv").starts_with("series,x,y,name\n"));
    EXPECT_TRUE(file_content(directory / "o u't/circle-arrows.svg").starts_with("<svg xmlns="));
    const std::string tips = file_content(directory / "o u't/circle-tips.csv");
    EXPECT_TRUE(tips.starts_with("position,x,y"));
    EXPECT_TRUE(has(outcome.out, tips + "# arrows: "));
}

// The experiments with the largest pictures.
TEST(LabReport, ThePageIsSmallAndItsLinksLeadToFiles) {
    const TempDir directory;
    const lab::Experiment* const list[] = {&lab::find_experiment("tables"), &lab::find_experiment("heat-map"),
                                           &lab::find_experiment("angles")};
    ASSERT_EQ(lab::write_report(lab::test::arguments_of({"report", "x", "--quick", "-q"}), directory.path(), list), 0);
    const std::string page = file_content(directory / "index.html");
    EXPECT_LT(page.size(), 3u << 20); // of 8 MB for all
    int links = 0;
    for (std::size_t at = 0; (at = page.find("href=\"data/", at)) != std::string::npos; ++links) {
        at += 6;
        EXPECT_TRUE(std::filesystem::exists(directory / page.substr(at, page.find('"', at) - at)))
            << page.substr(at, 60);
    }
    EXPECT_GT(links, 30);
}

TEST(LabReport, CommandsCanBePasted) {
    const std::vector<const char*> words{"order",    "--quick", "-p",       "it's",         "--seed", "7",
                                         "--format", "md",      "-m",       "../m.st",      "-t",     "2",
                                         "--isa",    "avx2",    "--corpus", "/a/b/c d.txt", "-q"};
    EXPECT_EQ(lab::command_of("order", lab::test::arguments_of(words)),
              "ordo lab order --seed 7 --quick --prompt 'it'\\''s' --corpus '/a/b/c d.txt' --model ../m.st --threads 2 "
              "--isa avx2");
}

// Paths appear as the user typed them. The shell replaces ~ with the user's home.
TEST(LabReport, CommandsDoNotNameTheHome) {
    const char* const home = std::getenv("HOME");
    const std::string before = home ? home : "";
    setenv("HOME", "/home/someone", 1);
    const auto of = [](const char* path) {
        return lab::command_of("extrapolate", lab::test::arguments_of({"extrapolate", "--corpus", path}));
    };
    EXPECT_EQ(of("/home/someone/my texts/a.txt"), "ordo lab extrapolate --corpus ~/'my texts/a.txt'");
    EXPECT_EQ(of("/home/someoneelse/a.txt"), "ordo lab extrapolate --corpus /home/someoneelse/a.txt");
    EXPECT_EQ(of("~/a.txt"), "ordo lab extrapolate --corpus '~/a.txt'"); // a folder named ~
    if (home)
        setenv("HOME", before.c_str(), 1);
    else
        unsetenv("HOME");
}

} // namespace
