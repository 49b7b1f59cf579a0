// SPDX-License-Identifier: MIT
// The files that the lab writes: those of one experiment, and the report of several.
#include "tests/lab/lab_run.h"
#include "tests/tools/child.h"
#include "tools/lab/drawing/plot.h"
#include "tools/lab/report/report.h"

#include <sys/stat.h>

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
    EXPECT_TRUE(std::filesystem::exists(directory / "pictures" / "good-p.gp"));
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
                    {.signal = SIGINT, .signal_file = (directory / "data/heat-map-128x8.csv").string()});
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
                                 "data/good-t.csv", "data/good-p.csv", "pictures/good-p.gp"};
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

TEST(LabReport, TakesOnlyTwoOptions) {
    expect_error(run_program({"lab", "report"}), 2, "expected a directory");
    expect_error(run_program({"lab", "report", "x", "--format", "csv"}), 2, "report does not take --format");
    expect_error(run_program({"lab", "report", "x", "--dim", "8"}), 2, "report does not take --dim");
}

// Plots with a fake gnuplot in PATH. An empty text means no gnuplot.
Outcome plot(const TempDir& directory, const std::string& gnuplot) {
    const std::filesystem::path bin = directory / "bin";
    std::filesystem::create_directory(bin);
    if (!gnuplot.empty()) {
        put_file(bin / "gnuplot", "#!/bin/sh\n" + gnuplot + "\n");
        chmod((bin / "gnuplot").c_str(), 0755);
    }
    return run_program({"lab", "circle", "--format", "csv", "--out", (directory / "o u't").string()},
                       {.environment = {{"PATH", bin.string()}}});
}

TEST(LabFiles, WithoutGnuplotScriptsAndCsvRemain) {
    const TempDir directory;
    const Outcome outcome = plot(directory, "");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_TRUE(has(outcome.err, "apt-get install gnuplot-nox"));
    EXPECT_TRUE(outcome.out.starts_with("# tips: "));
    EXPECT_TRUE(has(file_content(directory / "o u't/circle-arrows.gp"), "set output \"circle-arrows.svg\""));
    EXPECT_TRUE(file_content(directory / "o u't/circle-arrows.csv").starts_with("series,x,y,name\n"));
    const std::string tips = file_content(directory / "o u't/circle-tips.csv");
    EXPECT_TRUE(tips.starts_with("position,x,y"));
    EXPECT_TRUE(has(outcome.out, tips + "# arrows: "));
}

TEST(LabFiles, AFailingGnuplotIsAnError) {
    const TempDir directory;
    expect_error(plot(directory, "echo cannot plot $2 >&2; exit 3"), 1,
                 "circle-arrows.gp: cannot plot ./circle-arrows.gp");
}

// A fake gnuplot that draws both pictures, the second one with `png`.
std::string drawing(const std::string& png) {
    return "[ -e ./circle-arrows.gp ] && [ \"$1\" = -d ] && echo '<svg></svg>' >circle-arrows.svg && " + png;
}
const std::string whole_png = "printf '\\211PNG...\\0\\0\\0\\0IEND\\256B`\\202' >circle-arrows.png";

std::vector<std::string> names_in(const std::filesystem::path& folder) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
}

TEST(LabFiles, GnuplotRunsInAFolderThatIsGoneAfterwards) {
    const TempDir directory;
    const Outcome outcome = plot(directory, drawing(whole_png));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    EXPECT_EQ(file_content(directory / "o u't/circle-arrows.svg"), "<svg></svg>\n");
    EXPECT_TRUE(file_content(directory / "o u't/circle-arrows.png").starts_with("\x89PNG..."));
    EXPECT_EQ(names_in(directory / "o u't"),
              (std::vector<std::string>{"circle-arrows.csv", "circle-arrows.gp", "circle-arrows.png",
                                        "circle-arrows.svg", "circle-tips.csv"}));
}

// A half-written picture, as on a full disk, which gnuplot does not report, or without a disk error.
TEST(LabFiles, AHalfPictureTakesThePlaceOfNone) {
    for (const char* png : {"printf '\\211PNG...' >circle-arrows.png", ": >circle-arrows.png", ":"}) {
        const TempDir directory;
        std::filesystem::create_directory(directory / "o u't");
        for (const char* name : {"circle-arrows.svg", "circle-arrows.png"}) put_file(directory / "o u't" / name, "old");
        expect_error(plot(directory, drawing(png)), 5, "circle-arrows.png: expected a whole picture of gnuplot's");
        for (const char* name : {"circle-arrows.svg", "circle-arrows.png"})
            EXPECT_EQ(file_content(directory / "o u't" / name), "old");
        EXPECT_EQ(names_in(directory / "o u't").size(), 3u); // including the table
    }
}

TEST(LabFiles, CtrlCLeavesNoHalfPicture) {
    const TempDir directory;
    const std::filesystem::path bin = directory / "bin", started = directory / "started";
    std::filesystem::create_directory(bin);
    put_file(bin / "gnuplot",
             "#!/bin/sh\necho '<svg>' >circle-arrows.svg; echo >" + started.string() + "\nsleep 1; exit 0\n");
    chmod((bin / "gnuplot").c_str(), 0755);
    const Outcome outcome = run_program({"lab", "circle", "--out", (directory / "out").string(), "-q"},
                                        {.environment = {{"PATH", bin.string() + ":/usr/bin:/bin"}},
                                         .signal = SIGINT,
                                         .signal_file = started.string()});
    EXPECT_EQ(outcome.code, 130) << outcome.err;
    EXPECT_FALSE(outcome.died);
    EXPECT_EQ(names_in(directory / "out"), std::vector<std::string>{"circle-tips.csv"});
}

// Runs the real gnuplot, if it is installed.
TEST(LabFiles, PicturesAreDrawn) {
    const TempDir directory;
    const Outcome outcome =
        run_program({"lab", "division-term", "--format", "json", "--out", directory.path().string()});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    if (!outcome.err.empty()) GTEST_SKIP() << outcome.err;
    const std::string svg = file_content(directory / "division-term-linear.svg");
    EXPECT_TRUE(has(svg, "radians per position"));
    EXPECT_FALSE(has(svg, "The division term of 512 dimensions")); // a page has the title as text
    EXPECT_TRUE(file_content(directory / "division-term-linear.png").starts_with("\x89PNG"));
}

// The experiments with the largest pictures, in files of which none may be missing.
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
    const std::string map = file_content(directory / "pictures/heat-map-128x8.svg");
    if (map.empty()) GTEST_SKIP() << lab::no_gnuplot;
    EXPECT_TRUE(has(map, "<image style='image-rendering:pixelated' ")); // browsers smooth images
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
