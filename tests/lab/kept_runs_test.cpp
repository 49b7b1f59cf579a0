// SPDX-License-Identifier: MIT
#include "encoding/base/model_encodings.h"
#include "tests/lab/lab_run.h"
#include "tests/temp_dir.h"
#include "tests/tools/child.h"
#include "tools/lab/shipped/compare_runs.h"

namespace ordo::lab {
namespace {

using ordo::test::put_file;
using test::cell;
using test::says;
using test::table;

// Made-up results in the form that bench/seeds.sh keeps: two encodings, three seeds, two documents.
class LabKeptRuns : public testing::Test {
protected:
    void SetUp() override {
        std::filesystem::create_directories(folder());
        std::filesystem::create_directories(directory / "weights");
        put_file(folder() / "seeds-recipe.txt", "Muon at 0.006 on simple.train.txt, commit 0\n");
        keep("a-1,\"a:x=1,y=2\",1,500,1.0,0.5,\na-2,\"a:x=1,y=2\",2,500,1.2,0.7,\na-3,\"a:x=1,y=2\",3,500,1.1,0.6,\n"
             "none-1,none,1,500,1.5,,\nnone-2,none,2,500,1.8,,\nnone-3,none,3,500,1.5,,\n");
    }
    void keep(const std::string& runs, const char* in = "") const {
        put_file(folder() / in / "seeds-runs.csv", header + runs);
    }
    void keep_documents() const {
        put_file(folder() / "seeds-documents.csv",
                 "file,document,tokens,nll\na-1,0,30,1.0\na-1,1,10,1.0\na-2,0,30,1.2\na-2,1,10,1.2\na-3,0,30,1.1\na-3,"
                 "1,10,1.1\nnone-1,0,30,1.4\nnone-1,1,10,1.8\nnone-2,0,30,1.8\nnone-2,1,10,1.8\nnone-3,0,30,1.4\nnone-"
                 "3,1,10,1.8\n");
    }
    std::filesystem::path folder() const { return directory / "bench" / "results"; }
    void refused(const char* file, const std::string& content, const char* why) const {
        put_file(folder() / file, content);
        EXPECT_TRUE(has(error_of([&] { read_kept_runs(folder()); }), why)) << content;
    }
    Result run() const {
        const std::string weights = (directory / "weights").string();
        setenv("ORDO_WEIGHTS", weights.c_str(), 1);
        Result result = test::run(compare_experiment);
        unsetenv("ORDO_WEIGHTS");
        return result;
    }
    static inline const std::string header = "file,encoding,seed,tokens,nll,more_at_4x,processor\n";
    ordo::test::TempDir directory;
};

// The deviations of a are -.1, .1, 0, and of none -.1, .2, -.1. The pooled variance is .08 / 4, with 4 degrees of
// freedom; none's own is .03. The squared errors of the means are .02 / 3 and .03 / 3. By document, the means over the
// seeds are 13/30 and 0.7 of 30 and 10 tokens. They differ from the mean of 0.5 by sums of -2 and 2.
TEST_F(LabKeptRuns, ArePooledOverEncodingsAndComparedByDocument) {
    keep_documents();
    const Result result = run();
    EXPECT_TRUE(says(result, "Losses of 6 runs of 2 encodings, trained on 500 tokens each with Muon at 0.006 on "
                             "simple.train.txt, commit 0"));
    const tools::Figures& pairs = table(result, "pairs");
    ASSERT_EQ(pairs.rows.size(), 1u);
    EXPECT_EQ(std::get<std::string>(pairs.rows[0][0]), "a");
    const test::Where pair{{"worse", "none"}};
    const double by_seed = std::sqrt(0.05 / 3), by_document = std::sqrt(2 * 8) / 40;
    EXPECT_NEAR(cell(pairs, pair, "nll_less"), 0.5, 1e-12);
    // (1/60)^2 / ((1/150)^2 / 4 + (1/100)^2 / 4) = 7.7 degrees of freedom, rounded down to 7.
    EXPECT_NEAR(cell(pairs, pair, "half_seeds"), 2.3646 * by_seed, 1e-4);
    EXPECT_NEAR(cell(pairs, pair, "half_documents"), 12.7062 * by_document, 1e-4);
    // (1/60 + 1/100)^2 / ((1/150)^2 / 4 + (1/100)^2 / 4 + (1/100)^2 / 1) = 5.2 degrees of freedom, rounded down to 5.
    EXPECT_NEAR(cell(pairs, pair, "half"), 2.5706 * std::hypot(by_seed, by_document), 1e-4);
    EXPECT_EQ(cell(pairs, pair, "documents"), 2);
    EXPECT_EQ(std::get<bool>(pairs.rows[0][test::column(pairs, "beyond_chance")]), true);
    EXPECT_NEAR(cell(table(result, "loss"), {{"encoding", "a"}}, "half_minus"), cell(pairs, pair, "half"), 1e-3);
    EXPECT_NEAR(cell(table(result, "loss"), {{"encoding", "a"}}, "more_at_4x"), 0.6, 1e-12);
}

// A run of a single seed gets an interval from the spread of the others. Only the list fixed beforehand is judged, and
// the output states its length.
TEST_F(LabKeptRuns, OfOneSeedHaveAnIntervalAndTheListIsCounted) {
    keep("n-1,none,1,500,1.50,,\nn-2,none,2,500,1.52,,\nr-1,rope,1,500,1.00,,\nr-2,rope,2,500,1.02,,\n"
         "x-1,xpos,1,500,1.30,,\na-1,alibi,1,500,1.015,,\nk-1,kerple,1,500,1.02,,\n");
    const Result result = run();
    const tools::Figures &losses = table(result, "loss"), &pairs = table(result, "pairs");
    const double spread = 0.01 * std::sqrt(2); // the spread of none and of rope, two degrees of freedom
    EXPECT_NEAR(cell(losses, {{"encoding", "xpos"}}, "half"), 4.3027 * spread, 1e-4);
    // Wider: four comparisons at once.
    EXPECT_GT(cell(losses, {{"encoding", "xpos"}}, "half_minus"), 4.3027 * spread * std::sqrt(1.5));
    const auto judged = [&](const char* a, const char* b) {
        return pairs.rows.at(test::row_of(pairs, {{"better", a}, {"worse", b}}))[test::column(pairs, "beyond_chance")];
    };
    EXPECT_EQ(judged("rope", "alibi"), tools::Cell(false));
    EXPECT_EQ(judged("rope", "xpos"), tools::Cell(true));
    EXPECT_EQ(judged("alibi", "xpos"), tools::Cell()); // not in the list
    EXPECT_TRUE(says(result, "3 pairs of a fixed list (twelve listed on 25 November 2026, after the first runs"));
    EXPECT_TRUE(says(result, "4 comparisons with none are judged, each kind with Bonferroni's correction"));
    EXPECT_TRUE(says(result, "of 7 comparisons differ by more than chance"));
}

// The list names encodings without their parameters, sums too.
TEST_F(LabKeptRuns, OfASumAreOnTheListToo) {
    keep("r-1,rope:theta=10,1,500,1,,\nr-2,rope:theta=10,2,500,1.02,,\ns-1,\"sink+rope:theta=10,width=2\",1,500,1.1,,\n"
         "x-1,shaw,1,500,1.2,,\n");
    EXPECT_TRUE(says(run(), "1 pair of a fixed list ("));
}

// What the list names is an encoding as it is by default, if it has runs.
TEST_F(LabKeptRuns, OfAnotherVersionAreNotOnTheList) {
    keep("r-1,rope,1,500,1,,\nr-2,rope,2,500,1.02,,\nh-1,rope:keep=0.5,1,500,1.1,,\na-1,alibi,1,500,1.2,,\n");
    EXPECT_TRUE(says(run(), "1 pair of a fixed list ("));
}

TEST_F(LabKeptRuns, WithoutDocumentsAreOfSeedsAlone) {
    const Result result = run();
    EXPECT_TRUE(says(result, "Losses by document are missing (seeds-documents.csv)"));
    const tools::Figures& pairs = table(result, "pairs");
    EXPECT_NEAR(cell(pairs, {{"worse", "none"}}, "half"), 2.3646 * std::sqrt(0.05 / 3), 1e-4);
    EXPECT_EQ(std::get<bool>(pairs.rows[0][test::column(pairs, "beyond_chance")]), true);
}

// Predictions from before the runs stand beside the results: inside the range by more than the interval, outside of it,
// across its border, of another budget in its own folder, and without a run.
TEST_F(LabKeptRuns, StandBesideTheirPredictions) {
    EXPECT_FALSE(says(run(), "predictions"));
    const std::string header = "date,encoding,trunk,tokens,against,measure,minus,range,reason\n";
    put_file(folder() / "predictions.csv",
             header + "2026-11-28,a,,500,none,nll,-0.5,0.45,close\n2026-11-28,a,,500,none,nll,0.5,0.45,far\n"
                      "2026-11-28,a,,500,none,nll,-0.5,0.1,near\n2026-11-28,a,,900,none,nll,-0.25,0.1,others\n"
                      "2026-11-28,b,,500,none,nll,0,1,absent\n2026-11-28,a,d_ff,500,none,nll,0,1,of another size\n");
    std::filesystem::create_directories(folder() / "tokens-900");
    put_file(folder() / "tokens-900" / "seeds-runs.csv",
             "file,encoding,seed,tokens,nll,more_at_4x,processor\na-1,a,1,900,1.0,,\nnone-1,none,1,900,1.25,,\n");
    const Result result = run();
    const tools::Figures& predictions = table(result, "predictions");
    std::vector<std::string> outcomes;
    for (const auto& row : predictions.rows)
        outcomes.push_back(std::get<std::string>(row[test::column(predictions, "outcome")]));
    EXPECT_EQ(outcomes, (std::vector<std::string>{"inside", "outside", "undecided", "inside, without an interval",
                                                  "no run", "no run"}));
    EXPECT_NEAR(cell(predictions, {{"reason", "near"}}, "found"), -0.5, 1e-12);
    EXPECT_TRUE(says(result, "Of 6 predictions that were written before their runs, 4 have runs: 2 inside the "
                             "predicted range, 1 outside, 1 undecided"));
    put_file(folder() / "predictions.csv", header + "2026-11-28,a,,500,none,speed,0,1,\n");
    EXPECT_TRUE(has(error_of([&] { run(); }), "expected nll or more_at_4x, found 'speed'"));
}

// A pattern gets the shortest name that is unique. Two patterns with the same shape are named in full. The title of
// their heat map states the finding.
TEST_F(LabKeptRuns, HaveShortNamesAndAPictureThatSaysWhatWasFound) {
    const std::string none = "n-1,none,1,500,1.5,,\nn-2,none,2,500,1.6,,\n",
                      pattern = "\"pattern((rope:theta=10000,pairing=adjacent,width=32),none)\"",
                      sum = "\"rope:theta=10,width=2+alibi:max=8\"";
    keep(none + "p-1," + pattern + ",1,500,1.0,,\np-2," + pattern + ",2,500,1.1,,\ns-1," + sum + ",1,500,2.5,,\n");
    Result result = run();
    const auto names = [&] { return test::picture<HeatMap>(result, "differences").x_names; };
    EXPECT_EQ(names(), (std::vector<std::string>{"pattern(rope,none)", "none", "rope+alibi"}));
    // The means are 0.5 apart, and the spread is 0.07. Each of the two is compared with none, and with the other.
    const std::string& title = result.pictures.at(1).title;
    EXPECT_TRUE(has(title, "the best is pattern(rope,none); 3 of 3 comparisons differ by more than chance"));
    // The ranking has the same order, with the differences from none, whose mean is 1.55.
    const auto& ranking = test::picture<Curves>(result, "ranking");
    EXPECT_EQ(ranking.x_names, names());
    EXPECT_NEAR(ranking.series.at(0).y.at(0), 1.05 - 1.55, 1e-9);
    EXPECT_EQ(ranking.series.at(0).y.at(1), 0);
    EXPECT_NEAR(ranking.series.at(0).y.at(2), 2.5 - 1.55, 1e-9);
    EXPECT_TRUE(std::isnan(test::picture<HeatMap>(result, "differences").values.at(1).at(1)));
    EXPECT_TRUE(result.answer.starts_with("The best is pattern(rope,none) (95 %")) << result.answer;
    keep(none + "a-1,\"pattern(rope:theta=10,none)\",1,500,1,,\nb-1,\"pattern(rope:theta=20,none)\",1,500,1,,\n");
    result = run();
    EXPECT_EQ(names(),
              (std::vector<std::string>{"pattern(rope:theta=10,none)", "pattern(rope:theta=20,none)", "none"}));
}

// A file has one name in the results, whatever other files are measured with it.
TEST(LabRuns, LeaveParametersOutThatHaveTheirDefault) {
    const Dims dims{.d_model = 128, .n_heads = 4, .d_head = 32, .n_layers = 4, .context = 256};
    const auto name = [&](const std::string& spec) {
        return lab::without_defaults(ModelEncodings(spec, dims).spec(), dims);
    };
    for (const char* spec :
         {"none", "rope", "rope:theta=100", "sinusoidal:columns=32", "rope:theta=7600000,keep=0.5", "rope+log-scale",
          "rope+log-scale:kind=log-n,length=128", "pattern(rope,none)", "relative-logits", "rotate-stretch:period=6"})
        EXPECT_EQ(name(spec), spec);
    EXPECT_EQ(name("rope:theta=10000"), "rope");
    EXPECT_EQ(name("pattern((rope:theta=5),none)"), "pattern(rope:theta=5,none)");
    EXPECT_EQ(name("relative-logits:extent=256,rank=8"), "relative-logits:rank=8");
}

// Of three encodings, a and b are 0.01 apart and c is 1 behind; all runs of one encoding are 0.02 apart.
TEST_F(LabKeptRuns, GiveTheSetThatCanBeTheBestAndOnePOfTheIntervalsKind) {
    std::string rows;
    for (const auto& [name, nll] : {std::pair{"a", 1.0}, {"b", 1.01}, {"c", 2.0}, {"none", 3.0}})
        for (const int seed : {1, 2})
            rows += text(name, "-", seed, ",", name, ",", seed, ",500,", nll + 0.02 * (seed - 1), ",,\n");
    keep(rows);
    const Result result = run();
    EXPECT_TRUE(result.answer.starts_with("The best is one of a, b (95 %, Hsu's")) << result.answer;
    const tools::Figures &losses = table(result, "loss"), &pairs = table(result, "pairs");
    const auto best = [&](std::size_t row) { return losses.rows[row].at(test::column(losses, "can_be_best")); };
    EXPECT_EQ(best(1), tools::Cell(true));
    EXPECT_EQ(best(2), tools::Cell(false));
    // A comparison is decided exactly if its corrected interval excludes zero, and no p is below what can be told.
    for (std::size_t i = 0; i < pairs.rows.size(); ++i) {
        const auto at = [&](const char* name) { return test::number(pairs.rows[i][test::column(pairs, name)]); };
        EXPECT_EQ(at("p_corrected") < 0.05, at("nll_less") > at("half_corrected")) << i;
        EXPECT_GE(at("half_corrected"), at("half"));
        EXPECT_GE(at("p_corrected"), at("p"));
        EXPECT_GE(at("p"), 1e-12);
    }
}

// Rows with a trunk are shown, with their difference from the same encoding, and take no part in anything else.
TEST_F(LabKeptRuns, OfAnotherSizeStandBesideTheRanking) {
    put_file(folder() / "seeds-runs.csv",
             "file,encoding,seed,tokens,nll,more_at_4x,trunk,processor\nn-1,none,1,500,1.5,,,\nn-2,none,2,500,1.6,,,\n"
             "w-1,none,1,500,1.3,,d_ff 524,\nr-1,rope,1,500,1.0,,,\nr-2,rope,2,500,1.2,,,\n");
    const Result result = run();
    EXPECT_EQ(table(result, "loss").rows.size(), 2u);
    EXPECT_TRUE(says(result, "pooled over the 2 encodings"));
    const tools::Figures& beside = table(result, "beside");
    EXPECT_NEAR(cell(beside, {{"trunk", "d_ff 524"}}, "minus_none"), 1.3 - 1.55, 1e-12);
    EXPECT_NEAR(cell(beside, {{"trunk", "d_ff 524"}}, "minus_same"), 1.3 - 1.55, 1e-12);
    EXPECT_TRUE(says(result, "1 row of another size or other windows stand beside"));
}

TEST_F(LabKeptRuns, OnASecondTextFollowTheSameRule) {
    std::filesystem::create_directories(folder() / "heldout-2");
    put_file(folder() / "seeds-recipe.txt", "Muon at 0.006 on simple.train.txt\nfirst.txt\n");
    put_file(folder() / "heldout-2" / "seeds-recipe.txt", "Muon at 0.006 on simple.train.txt\nsecond.txt\n");
    keep("a-1,a,1,500,2.0,,\na-2,a,2,500,2.1,,\nn-1,none,1,500,2.0,,\nn-2,none,2,500,2.2,,\n", "heldout-2");
    const Result result = run();
    EXPECT_TRUE(result.tables.at(0).title.starts_with("first.txt, "));
    EXPECT_TRUE(says(result, "On second.txt: Losses of 4 runs of 2 encodings"));
    EXPECT_TRUE(says(result, "On second.txt: The best is one of a, none"));
    EXPECT_NEAR(cell(table(result, "second-loss"), {{"encoding", "a"}}, "minus_none"), -0.05, 1e-12);
    EXPECT_NEAR(cell(table(result, "loss"), {{"encoding", "a"}}, "minus_none"), -0.5, 1e-12);
}

// Intervals of this design hold about as often as they claim, whether the spreads are alike or not.
TEST_F(LabKeptRuns, SimulateTheCoverageOfTheirIntervals) {
    std::vector<Group> groups;
    for (const char* name : {"a", "b", "c", "d", "e", "none"})
        for (const char* seed : {"1", "2", "3"}) group_of(groups, name).runs[seed].nll = 1 + 0.01 * (seed[0] - '1');
    name_groups(groups);
    const std::vector<Coverage> all = simulate(groups, spread_of(groups), 1000, 1);
    ASSERT_EQ(all.size(), 3u); // no encoding has one run
    for (const Coverage& one : all) EXPECT_GT(one.all_hold, 0.93) << one.spread;
    for (const Coverage& one : all) EXPECT_GT(one.best_kept, 0.93) << one.spread;
    EXPECT_LT(all[0].all_hold, 1);
    groups[0].runs.erase("2"), groups[0].runs.erase("3");
    EXPECT_EQ(simulate(groups, spread_of(groups), 10, 1).size(), 4u);
}

TEST_F(LabKeptRuns, OfOtherBudgetsAreNotCompared) {
    keep("a-1,a,1,500,1,,\na-2,a,2,500,1.2,,\nb-1,b,1,900,1,,\nb-2,b,2,900,1.2,,\n");
    const Result result = run();
    EXPECT_EQ(table(result, "pairs").rows.size(), 0u);
    EXPECT_TRUE(says(result, "NOT CONTROLLED"));
}

// The types of processor differ in the last bits of sums, so the reader learns which trained which run.
TEST_F(LabKeptRuns, SayWhichProcessorTrainedThem) {
    const auto types = [](const Result& result) {
        return std::count_if(result.found.begin(), result.found.end(), [](const std::string& line) {
            return has(line, "Types of processor or of Muon's products differ");
        });
    };
    EXPECT_EQ(types(run()), 0); // all unrecorded
    const std::string old = "n-1,none,1,500,1.5,,Old\nn-2,none,2,500,1.6,,Old\nr-2,rope,2,500,1.1,,\n";
    keep(old + "r-1,rope,1,500,1,,\n");
    EXPECT_EQ(types(run()), 0); // one, and unrecorded ones
    keep(old + "r-1,rope,1,500,1,,New\n");
    const Result result = run();
    EXPECT_EQ(types(result), 1);
    EXPECT_TRUE(says(result, "1 run on an unrecorded type, 1 run on New, 2 runs on Old."));
    const tools::Figures& runs = table(result, "runs");
    ASSERT_EQ(runs.rows.size(), 4u); // rope first
    EXPECT_EQ(runs.rows[0].at(test::column(runs, "processor")), tools::Cell("New"));
    EXPECT_EQ(runs.rows[2].at(test::column(runs, "processor")), tools::Cell("Old"));
}

// rope is 0.2 apart, with the weight 1 / (1 + 1); none 0.15, with 1 / (1 + 1/2). The mean is 0.2 / 1.1667. The two runs
// of none on A have a deviation of 0.0707 with one degree of freedom, and sqrt(1.1667) divides it.
TEST_F(LabKeptRuns, SayHowFarTheTypesOfProcessorsAreApart) {
    const std::string mixed = "n-1,none,1,500,1.3,,A\nn-2,none,2,500,1.4,,A\nn-3,none,3,500,1.5,,B\n"
                              "r-1,rope,1,500,1.0,,A\nr-2,rope,2,500,1.2,,B\n";
    keep(mixed);
    EXPECT_TRUE(says(run(), "In 2 encodings with runs on both, those on B lose 0.17 +- 0.83 more than those on A"));
    // Two rows of one run: the one on B differs from those on A by its processor, too, so its interval is wider.
    keep(mixed + "x-1,x,1,500,1,,A\ny-1,y,1,500,1,,B\nz-1,z,1,500,1,,A\n");
    const KeptRuns kept = read_kept_runs(folder());
    const auto of = [&](const char* name) { return *std::ranges::find(kept.groups, name, &Group::spec); };
    const StudySpread spread = spread_of(kept.groups);
    EXPECT_NEAR(spread.processors, std::hypot(0.2 / (7.0 / 6), 0.0707107 / std::sqrt(7.0 / 6)), 1e-5);
    const double same = compare(of("x"), of("z"), spread)->error(), apart = compare(of("x"), of("y"), spread)->error();
    EXPECT_NEAR(apart * apart - same * same, spread.processors * spread.processors, 1e-9);
}

TEST_F(LabKeptRuns, RefuseWhatCannotBeRead) {
    const char *runs = "seeds-runs.csv", *documents = "seeds-documents.csv";
    refused(documents, "file,document,tokens,nll\nb-1,0,30,1.0\n",
            "seeds-documents.csv: line 2: expected a file of seeds-runs.csv, found 'b-1'");
    refused(documents, "file,document,tokens,nll\na-1,1,30,1.0\n", "line 2: expected document 0, found 1");
    refused(documents, "file,document,tokens,nll\na-1,0,0,1.0\n", "line 2: expected tokens, found 0");
    refused(documents, "file,document,nll\n", "line 1: expected a column tokens, found none");
    refused(runs, header + "a-1,a,1,500,1,\n", "seeds-runs.csv: line 2: expected 7 fields, found 6");
    refused(runs, header + "a-1,a,1,500,low,,\n", "line 2: expected a number, found 'low'");
    refused(runs, header + "a-1,a,1,500,1,,\na-2,a,1,500,1,,\n", "line 3: expected each seed of a once, found 1 again");
    refused(runs, header, "expected runs, found none");
    refused(runs, "file,encoding,seed,tokens,nll,more_at_4x,trunk,processor\na-1,a,1,500,1,,d_ff 9,\n",
            "expected a run without a trunk, found none");
}

// Two million tokens: RoPE and sinusoids with two bases, and sinusoids in 32 columns of their own.
TEST_F(LabKeptRuns, OfOtherBasesAndColumnsAreCompared) {
    std::filesystem::create_directories(folder() / "tokens-2000000");
    const std::string rope = "\"rope:theta=10000,pairing=adjacent,width=32\"",
                      fast = "\"rope:theta=100,pairing=adjacent,width=32\"",
                      waves = "\"sinusoidal:scale=11.3,base=10000,layout=interleaved,law=paper,offset=0",
                      fast_waves = "\"sinusoidal:scale=11.3,base=100,layout=interleaved,law=paper,offset=0\"";
    keep("rope-1," + rope + ",1,500,2.8,1.0,\nrope-2," + rope + ",2,500,2.81,1.2,\nrope-theta-100-1," + fast +
             ",1,500,2.9,0.3,\nrope-theta-100-2," + fast + ",2,500,2.91,0.5,\nsinusoidal-1," + waves +
             "\",1,500,2.95,,\nsinusoidal-2," + waves + "\",2,500,2.96,,\nsinusoidal-theta-100-1," + fast_waves +
             ",1,500,2.94,,\nsinusoidal-theta-100-2," + fast_waves + ",2,500,2.95,,\nsinusoidal-columns-32-1," + waves +
             ",columns=32\",1,500,3.05,,\nsinusoidal-columns-32-2," + waves + ",columns=32\",2,500,3.06,,\n",
         "tokens-2000000");
    setenv("ORDO_WEIGHTS", (directory / "weights").c_str(), 1);
    const Result base = test::run(base_experiment), concat = test::run(concat_experiment);
    unsetenv("ORDO_WEIGHTS");
    const tools::Figures &bases = table(base, "bases"), &columns = table(concat, "columns");
    EXPECT_EQ(bases.rows.size(), 4u);
    const test::Where of_rope{{"encoding", "rope"}, {"base", "100"}};
    EXPECT_NEAR(cell(bases, of_rope, "over_10000"), 0.1, 1e-12);
    EXPECT_NEAR(cell(bases, of_rope, "more_at_4x"), 0.4, 1e-12);
    EXPECT_EQ(std::get<std::string>(bases.rows[test::row_of(bases, of_rope)][test::column(bases, "verdict")]), "worse");
    EXPECT_NEAR(cell(bases, {{"encoding", "sinusoidal"}, {"base", "100"}}, "over_10000"), -0.01, 1e-12);
    EXPECT_EQ(columns.rows.size(), 2u);
    EXPECT_NEAR(cell(columns, {{"columns", "32"}}, "over_added"), 0.1, 1e-12);
}

} // namespace
} // namespace ordo::lab
