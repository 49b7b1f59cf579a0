// SPDX-License-Identifier: MIT
#include "tests/lab/lab_run.h"
#include "tests/temp_dir.h"
#include "tests/tools/program.h"
#include "tools/cli/weights.h"
#include "tools/lab/shipped/compare_runs.h"

#include <cmath>
#include <cstring>
#include <functional>

namespace ordo::lab {

extern const Experiment compare_experiment;

namespace {

using ordo::test::file_content;
using ordo::test::Json;
using ordo::test::put_file;
using test::cell;
using test::table;

// The file with what `change` makes of its record.
std::string with_record(const std::string& file, const std::function<void(Json&)>& change) {
    std::uint64_t length = 0;
    std::memcpy(&length, file.data(), 8);
    Json header = Json::parse(file.substr(8, length));
    change(header.at("__metadata__"));
    std::string text = header.dump();
    text.resize((text.size() + 7) / 8 * 8, ' ');
    const std::uint64_t written = text.size();
    return std::string(reinterpret_cast<const char*>(&written), 8) + text + file.substr(8 + length);
}
std::string with_entry(const std::string& file, const std::string& key, const std::string& value) {
    return with_record(file, [&](Json& record) { record[key] = value; });
}
// As files were before a run recorded its recipe, and which of its weights it kept.
std::string without_recipe(const std::string& file) {
    return with_record(file, [](Json& record) {
        for (auto entry = record.begin(); entry != record.end();)
            entry = entry.key().starts_with("recipe.") || entry.key().starts_with("ke") ? record.erase(entry)
                                                                                        : std::next(entry);
    });
}

// A shipped file as if another seed had made it: `spoilt` bytes at its end are zeros.
std::string reseeded(const std::string& file, char seed, std::size_t spoilt) {
    std::string other = with_entry(file, "seed", {seed});
    std::fill(other.end() - static_cast<std::ptrdiff_t>(spoilt), other.end(), '\0');
    return other;
}

// Nats per token of a document in windows of 256, from a Session that is fed one token at a time.
double loss(const std::filesystem::path& file, const std::string& text) {
    const tools::OneThread alone;
    const Model model = Model::load(file);
    std::vector<Token> tokens = model.encode(text);
    tokens.insert(tokens.begin(), model.end_of_text()); // a document begins with it
    double sum = 0;
    std::size_t scored = 0;
    for (std::size_t start = 0; start < tokens.size(); start += 256) {
        Session session(model, {.capacity = 256, .chunk = 1, .first_position = 0});
        for (std::size_t at = start; at + 1 < std::min(start + 256, tokens.size()); ++at, ++scored) {
            const auto logits = session.feed(std::span(tokens).subspan(at, 1));
            double z = 0;
            for (const float logit : logits) z += std::exp(static_cast<double>(logit));
            sum += std::log(z) - static_cast<double>(logits[static_cast<std::size_t>(tokens[at + 1])]);
        }
    }
    return sum / static_cast<double>(scored);
}

class LabCompare : public testing::Test {
protected:
    static void SetUpTestSuite() {
        directory = std::make_unique<ordo::test::TempDir>();
        for (const std::string name : {"rope", "none"}) {
            const std::string file = file_content("weights/" + name + ".safetensors");
            put_file(path(name + "-1"), file);
            put_file(path(name + "-2"), reseeded(file, '2', name == "rope" ? 0 : 300));
        }
        for (int i = 0; i < 300; ++i) text += "The old dog ran home. ";
        put_file(*directory / "text.txt", text);
        for (int i = 0; i < 20; ++i) short_text += "A cat sat in the big green tree. ";
        put_file(*directory / "two.txt", text + "<|endoftext|>" + short_text);
    }
    static void TearDownTestSuite() { directory.reset(); }

    static std::filesystem::path path(const std::string& name) { return *directory / (name + ".safetensors"); }
    static Result compare(const std::vector<std::string>& names, const char* of = "text.txt") {
        const std::string corpus = (*directory / of).string();
        std::vector<std::string> files;
        for (const std::string& name : names) files.push_back(path(name).string());
        std::vector<const char*> words{"--corpus", corpus.c_str()};
        for (const std::string& file : files) words.insert(words.end(), {"--model", file.c_str()});
        return test::run(compare_experiment, words);
    }
    // Two encodings, seeds and documents.
    static const Result& of_two() {
        static const Result result = compare({"rope-1", "none-1", "rope-2", "none-2"}, "two.txt");
        return result;
    }
    static bool says(const Result& result, std::string_view part) {
        return std::any_of(result.found.begin(), result.found.end(),
                           [&](const std::string& sentence) { return sentence.find(part) != std::string::npos; });
    }

    static inline std::unique_ptr<ordo::test::TempDir> directory;
    static inline std::string text, short_text;
};

TEST_F(LabCompare, MeansAndIntervalsOverSeedsAndDifferencesBySeed) {
    const Result result = compare({"rope-1", "none-1", "rope-2", "none-2"});
    const double rope[] = {loss(path("rope-1"), text), loss(path("rope-2"), text)};
    const double none[] = {loss(path("none-1"), text), loss(path("none-2"), text)};
    const double t =
        12.7062; // Student's 97.5 % point for one degree of freedom; the error of two values is |a - b| / 2
    const tools::Figures& losses = table(result, "loss");
    EXPECT_EQ(cell(losses, {{"encoding", "rope"}}, "seeds"), 2);
    EXPECT_NEAR(cell(losses, {{"encoding", "rope"}}, "nll"), (rope[0] + rope[1]) / 2, 1e-4);
    EXPECT_NEAR(cell(losses, {{"encoding", "none"}}, "half"), t * std::abs(none[0] - none[1]) / 2, 2e-3);
    const double first = rope[0] - none[0], second = rope[1] - none[1];
    ASSERT_GT(std::abs(first - second), 1e-3) << "the files are too much alike to test anything";
    EXPECT_NEAR(cell(losses, {{"encoding", "rope"}}, "minus_none"), (first + second) / 2, 1e-4);
    EXPECT_TRUE(std::isnan(cell(losses, {{"encoding", "rope"}}, "half_minus"))); // of one document
    EXPECT_NEAR(cell(table(result, "pairs"), {{"better", "none"}, {"worse", "rope"}}, "half_seeds"),
                t * std::abs(first - second) / 2, 2e-3);
    EXPECT_TRUE(says(result, ": undecided."));
    EXPECT_TRUE(std::isnan(cell(losses, {{"encoding", "none"}}, "minus_none")));
    EXPECT_EQ(table(result, "pairs").rows.size(), 1u);
    EXPECT_TRUE(says(result, "Only the encoding and the seed differ between the 4 files"));
}

// The documents' shares of a difference, by hand: with two of them Student's point is that of two seeds.
TEST_F(LabCompare, IntervalsOverDocuments) {
    const Result& result = of_two();
    const tools::Figures& documents = table(result, "documents");
    ASSERT_EQ(documents.rows.size(), 8u);
    const auto of = [&](const char* file, const char* document, const char* what) {
        return cell(documents, {{"file", file}, {"document", document}}, what);
    };
    EXPECT_NEAR(of("rope-1", "0", "nll"), loss(path("rope-1"), text), 1e-4);
    EXPECT_NEAR(of("rope-1", "1", "nll"), loss(path("rope-1"), short_text), 1e-4);
    const double n[] = {of("rope-1", "0", "tokens"), of("rope-1", "1", "tokens")};
    double d[2], squares = 0;
    const char* const names[] = {"0", "1"};
    for (const std::size_t i : {0u, 1u})
        d[i] = (of("rope-1", names[i], "nll") - of("none-1", names[i], "nll") + of("rope-2", names[i], "nll") -
                of("none-2", names[i], "nll")) /
               2;
    const double mean = (n[0] * d[0] + n[1] * d[1]) / (n[0] + n[1]);
    for (const std::size_t i : {0u, 1u}) squares += std::pow(n[i] * (d[i] - mean), 2);
    const double by_documents = 12.7062 * std::sqrt(2 * squares) / (n[0] + n[1]);
    const std::vector<std::pair<std::string, std::string>> pair{{"better", "none"}, {"worse", "rope"}};
    const tools::Figures& pairs = table(result, "pairs");
    EXPECT_NEAR(cell(pairs, pair, "nll_less"), mean, 1e-4);
    EXPECT_NEAR(cell(pairs, pair, "half_documents"), by_documents, 2e-3);
    EXPECT_NEAR(cell(pairs, pair, "half"), std::hypot(cell(pairs, pair, "half_seeds"), by_documents), 2e-3);
}

TEST_F(LabCompare, OneSeedTellsNothingOfChance) {
    const Result result = compare({"rope-1", "none-2"});
    EXPECT_TRUE(says(result, "nothing tells a difference from chance"));
    EXPECT_TRUE(std::isnan(cell(table(result, "loss"), {{"encoding", "rope"}}, "half")));
    EXPECT_TRUE(std::isnan(cell(table(result, "loss"), {{"encoding", "rope"}}, "minus_none")));
}

TEST_F(LabCompare, OneSeedHasAnIntervalOverDocumentsAlone) {
    const Result result = compare({"rope-1", "none-1"}, "two.txt");
    const tools::Figures& pairs = table(result, "pairs");
    ASSERT_EQ(pairs.rows.size(), 1u);
    const std::vector<std::pair<std::string, std::string>> pair{{"better", "none"}, {"worse", "rope"}};
    EXPECT_GT(cell(pairs, pair, "half_documents"), 0);
    EXPECT_TRUE(std::isnan(cell(pairs, pair, "half_seeds")));
    EXPECT_EQ(std::get<bool>(pairs.rows[0][test::column(pairs, "beyond_chance")]), false);
    EXPECT_TRUE(says(result, " over documents, of one seed: undecided."));
    EXPECT_TRUE(says(result, "nothing tells a difference from chance"));
}

TEST_F(LabCompare, FilesThatWereTrainedOtherwiseAreNamed) {
    const std::string rope = file_content(path("rope-1")), none = file_content(path("none-1"));
    put_file(path("short"), with_entry(none, "tokens", "1024"));
    EXPECT_TRUE(says(compare({"rope-1", "short"}), "NOT CONTROLLED: short differ from rope-1 in tokens"));
    // An older record has some of the recipe; the rest only the command says. Here that alone is changed.
    put_file(path("older"), without_recipe(rope));
    std::string other = without_recipe(none);
    other[other.find("--lr 0.006") + 9] = '4';
    put_file(path("other"), other);
    EXPECT_TRUE(says(compare({"older", "other"}), "NOT CONTROLLED: other differ from older in command"));
    const std::string f32 = path("f32").string();
    ordo::test::expect_success(
        ordo::test::run_program({"convert", path("none-1").string(), f32, "--dtype", "f32", "-q"}));
    EXPECT_TRUE(says(compare({"rope-1", "f32"}), "NOT CONTROLLED: f32 differ from rope-1 in type of weights"));
}

// Weights that were picked by a held-out text are no pair of the last ones.
TEST_F(LabCompare, FilesOfOtherWeightsOfTheirRunsAreNamed) {
    put_file(path("old"), without_recipe(file_content(path("rope-1"))));
    const auto keeping = [](Json entries) {
        return with_record(without_recipe(file_content(path("none-1"))), [&](Json& record) { record.update(entries); });
    };
    put_file(path("last"), keeping({{"keep", "last"}}));
    EXPECT_TRUE(says(compare({"old", "last"}), "Only the encoding and the seed differ between the 2 files"));
    put_file(path("best"), keeping({{"keep", "best"}, {"keep.every", "200"}, {"keep.windows", "256"}}));
    EXPECT_TRUE(says(compare({"old", "best"}), "NOT CONTROLLED: best differ from old in keep"));
    const std::string rarer = keeping({{"keep", "best"}, {"keep.every", "900"}, {"keep.windows", "256"}});
    put_file(path("rarer"), reseeded(rarer, '3', 0));
    EXPECT_TRUE(says(compare({"best", "rarer"}), "NOT CONTROLLED: rarer differ from best in keep"));
}

// What a run recorded of itself counts, not the words it was asked for with.
TEST_F(LabCompare, RecordsAreComparedAndNotCommandLines) {
    const std::string none = file_content(path("none-1"));
    std::string reworded = none;
    reworded.replace(reworded.find("--lr 0.006"), 10, "--lr 6.0e-");
    put_file(path("reworded"), reworded);
    put_file(path("clipped"), with_entry(none, "recipe.clip", "2"));
    EXPECT_TRUE(says(compare({"rope-1", "reworded"}), "Only the encoding and the seed differ between the 2 files"));
    EXPECT_TRUE(says(compare({"rope-1", "clipped"}), "NOT CONTROLLED: clipped differ from rope-1 in recipe.clip"));
}

// none's third seed is so bad that rope is ahead in the mean, and yet behind it for the seeds that both have.
TEST_F(LabCompare, PairsAreJudgedBySeedsThatBothHave) {
    put_file(path("none-3"), reseeded(file_content(path("none-1")), '3', 2'000'000));
    const Result result = compare({"rope-1", "rope-2", "none-1", "none-2", "none-3"});
    EXPECT_TRUE(says(result, "the best first: rope"));
    EXPECT_TRUE(says(result, "none is ahead of rope by "));
    EXPECT_GT(cell(table(result, "pairs"), {{"better", "none"}, {"worse", "rope"}}, "nll_less"), 0);
}

TEST_F(LabCompare, ShortDocumentsLeaveTheLongerWindowsOut) {
    const std::string whole = text;
    text = text.substr(0, 2000);
    put_file(*directory / "text.txt", text);
    const Result result = compare({"rope-1"});
    EXPECT_TRUE(says(result, "no document of text.txt has 1024 tokens"));
    EXPECT_NEAR(cell(table(result, "loss"), {{"encoding", "rope"}}, "nll"), loss(path("rope-1"), text), 1e-4);
    EXPECT_TRUE(std::isnan(cell(table(result, "loss"), {{"encoding", "rope"}}, "more_at_4x")));
    text = whole;
    put_file(*directory / "text.txt", text);
}

TEST_F(LabCompare, TwoRunsOfOneSeedAreRefused) {
    put_file(path("twin"), file_content(path("rope-1")));
    try {
        compare({"rope-1", "twin"});
        FAIL();
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("expected another seed than that of rope-1"), std::string::npos)
            << error.what();
    }
}

// What is kept of runs, as bench/seeds.sh copies it, says of them what the weights said.
TEST_F(LabCompare, WhatIsKeptComparesAsTheWeightsDo) {
    const Result& measured = of_two();
    const ordo::test::TempDir folder;
    for (const char* name : {"runs", "documents"})
        put_file(folder / ("seeds-" + std::string(name) + ".csv"),
                 tools::render(table(measured, name), tools::Format::csv));
    const KeptRuns kept = read_kept_runs(folder.path());
    ASSERT_EQ(kept.groups.size(), 2u);
    const Group &rope = kept.groups[kept.groups[0].spec == "rope" ? 0 : 1],
                &none = kept.groups[kept.groups[0].spec == "rope" ? 1 : 0];
    const std::optional<Paired> pair = paired(rope, none);
    ASSERT_TRUE(pair);
    const std::vector<std::pair<std::string, std::string>> row{{"better", "none"}, {"worse", "rope"}};
    const tools::Figures& pairs = table(measured, "pairs");
    EXPECT_EQ(pair->documents, 2);
    EXPECT_NEAR(pair->by_seed.mean, cell(pairs, row, "nll_less"), 1e-9);
    EXPECT_NEAR(pair->half(), cell(pairs, row, "half"), 1e-3);
}

// What bench/seeds.sh keeps, made up: two encodings, three seeds, two documents.
class LabKeptRuns : public testing::Test {
protected:
    void SetUp() override {
        std::filesystem::create_directories(folder());
        std::filesystem::create_directories(directory / "weights");
        put_file(folder() / "seeds-recipe.txt", "Muon at 0.006 on simple.train.txt, commit 0\n");
        put_file(folder() / "seeds-runs.csv",
                 "file,encoding,seed,tokens,nll,more_at_4x\n"
                 "a-1,\"a:x=1,y=2\",1,500,1.0,0.5\na-2,\"a:x=1,y=2\",2,500,1.2,0.7\n"
                 "a-3,\"a:x=1,y=2\",3,500,1.1,0.6\n"
                 "none-1,none,1,500,1.5,\nnone-2,none,2,500,1.8,\nnone-3,none,3,500,1.5,\n");
    }
    void keep_documents() const {
        put_file(folder() / "seeds-documents.csv",
                 "file,document,tokens,nll\na-1,0,30,1.0\na-1,1,10,1.0\na-2,0,30,1.2\na-2,1,10,1.2\na-3,0,30,1.1\n"
                 "a-3,1,10,1.1\nnone-1,0,30,1.4\nnone-1,1,10,1.8\nnone-2,0,30,1.8\nnone-2,1,10,1.8\nnone-3,0,30,1.4\n"
                 "none-3,1,10,1.8\n");
    }
    std::filesystem::path folder() const { return directory / "bench" / "results"; }
    void refused(const char* file, const std::string& content, const char* why) const {
        put_file(folder() / file, content);
        try {
            read_kept_runs(folder());
            ADD_FAILURE() << content;
        } catch (const Error& error) {
            EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
        }
    }
    Result run() const {
        const std::string weights = (directory / "weights").string();
        setenv("ORDO_WEIGHTS", weights.c_str(), 1);
        Result result = test::run(compare_experiment);
        unsetenv("ORDO_WEIGHTS");
        return result;
    }
    ordo::test::TempDir directory;
};

// Differences by seed: .5, .6, .4; Student's 97.5 % point for two degrees of freedom is 4.3027. By document, means over
// the seeds: 13/30 and 0.7 of 30 and 10 tokens, which differ from the mean of 0.5 by sums of -2 and 2.
TEST_F(LabKeptRuns, ArePairedBySeedAndDocument) {
    keep_documents();
    const Result result = run();
    EXPECT_NE(
        result.found.at(1).find("Kept losses of 6 runs of 2 encodings, trained on 500 tokens each with Muon at 0.006 "
                                "on simple.train.txt, commit 0"),
        std::string::npos)
        << result.found.at(0);
    const tools::Figures& pairs = table(result, "pairs");
    ASSERT_EQ(pairs.rows.size(), 1u);
    EXPECT_EQ(std::get<std::string>(pairs.rows[0][0]), "a");
    const std::vector<std::pair<std::string, std::string>> pair{{"worse", "none"}};
    EXPECT_NEAR(cell(pairs, pair, "nll_less"), 0.5, 1e-12);
    EXPECT_NEAR(cell(pairs, pair, "half_seeds"), 4.3027 * 0.1 / std::sqrt(3), 1e-4);
    EXPECT_NEAR(cell(pairs, pair, "half_documents"), 12.7062 * std::sqrt(2 * 8) / 40, 1e-4);
    EXPECT_NEAR(cell(pairs, pair, "half"), std::hypot(4.3027 * 0.1 / std::sqrt(3), 12.7062 / 10), 1e-4);
    EXPECT_EQ(cell(pairs, pair, "documents"), 2);
    EXPECT_EQ(std::get<bool>(pairs.rows[0][test::column(pairs, "beyond_chance")]), false);
    EXPECT_NEAR(cell(table(result, "loss"), {{"encoding", "a"}}, "more_at_4x"), 0.6, 1e-12);
}

TEST_F(LabKeptRuns, WithoutDocumentsAreOfSeedsAlone) {
    const Result result = run();
    EXPECT_NE(result.found.at(2).find("Losses by document are missing (seeds-documents.csv)"), std::string::npos);
    const tools::Figures& pairs = table(result, "pairs");
    EXPECT_NEAR(cell(pairs, {{"worse", "none"}}, "half"), 4.3027 * 0.1 / std::sqrt(3), 1e-4);
    EXPECT_EQ(std::get<bool>(pairs.rows[0][test::column(pairs, "beyond_chance")]), true);
}

// A pattern as short as tells it apart; two of one shape in full. A heat map of them says what was found.
TEST_F(LabKeptRuns, HaveShortNamesAndAPictureThatSaysWhatWasFound) {
    const std::string head = "file,encoding,seed,tokens,nll,more_at_4x\n",
                      none = "n-1,none,1,500,1.5,\nn-2,none,2,500,1.6,\n",
                      pattern = "\"pattern((rope:theta=10000,pairing=adjacent,width=32),none)\"",
                      sum = "\"rope:theta=10,width=2+alibi:max=8\"";
    put_file(folder() / "seeds-runs.csv", head + none + "p-1," + pattern + ",1,500,1.0,\np-2," + pattern +
                                              ",2,500,1.1,\ns-1," + sum + ",1,500,2,\n");
    Result result = run();
    const auto names = [&] { return test::picture<HeatMap>(result, "differences").x_names; };
    EXPECT_EQ(names(), (std::vector<std::string>{"pattern(rope,none)", "none", "rope+alibi"}));
    // 0.5 apart with either seed; the sum has one seed alone, which decides nothing.
    EXPECT_NE(result.pictures.at(0).title.find("pattern(rope,none) loses least (undecided against 1 of 2), rope+alibi "
                                               "most (undecided against 2 of 2); 1 of 1 pairs of "
                                               "encodings with two seeds or more differ"),
              std::string::npos)
        << result.pictures.at(0).title;
    put_file(folder() / "seeds-runs.csv",
             head + none +
                 "a-1,\"pattern(rope:theta=10,none)\",1,500,1,\nb-1,\"pattern(rope:theta=20,none)\",1,500,1,\n");
    result = run();
    EXPECT_EQ(names(),
              (std::vector<std::string>{"pattern(rope:theta=10,none)", "pattern(rope:theta=20,none)", "none"}));
}

// Of other budgets nothing is paired.
TEST_F(LabKeptRuns, OfOtherBudgetsAreNotPaired) {
    put_file(folder() / "seeds-runs.csv", "file,encoding,seed,tokens,nll,more_at_4x\na-1,a,1,500,1,\na-2,a,2,500,1.2,\n"
                                          "b-1,b,1,900,1,\nb-2,b,2,900,1.2,\n");
    const Result result = run();
    EXPECT_EQ(table(result, "pairs").rows.size(), 0u);
    EXPECT_NE(result.found.at(2).find("NOT CONTROLLED"), std::string::npos);
}

TEST_F(LabKeptRuns, RefuseWhatCannotBeRead) {
    const char *runs = "seeds-runs.csv", *documents = "seeds-documents.csv";
    const std::string header = "file,encoding,seed,tokens,nll,more_at_4x\n";
    refused(documents, "file,document,tokens,nll\nb-1,0,30,1.0\n",
            "seeds-documents.csv: line 2: expected a file of seeds-runs.csv, found 'b-1'");
    refused(documents, "file,document,tokens,nll\na-1,1,30,1.0\n", "line 2: expected document 0, found 1");
    refused(documents, "file,document,tokens,nll\na-1,0,0,1.0\n", "line 2: expected tokens, found 0");
    refused(documents, "file,document,nll\n", "line 1: expected a column tokens, found none");
    refused(runs, header + "a-1,a,1,500,1\n", "seeds-runs.csv: line 2: expected 6 fields, found 5");
    refused(runs, header + "a-1,a,1,500,low,\n", "line 2: expected a number, found 'low'");
    refused(runs, header + "a-1,a,1,500,1,\na-2,a,1,500,1,\n", "line 3: expected each seed of a once, found 1 again");
    refused(runs, header, "expected runs, found none");
}

} // namespace
} // namespace ordo::lab
