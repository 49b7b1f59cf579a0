// SPDX-License-Identifier: MIT
#include "tests/lab/lab_run.h"
#include "tests/temp_dir.h"
#include "tests/tools/child.h"
#include "tests/words.h"
#include "tools/lab/shipped/compare_runs.h"
#include "tools/opening/weights.h"
#include "tools/train/sha256.h"

#include <cstring>
#include <functional>

namespace ordo::lab {
namespace {

using ordo::test::file_content;
using ordo::test::Json;
using ordo::test::put_file;
using test::cell;
using test::says;
using test::table;

// The file with its record changed by `change`.
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
// The file as it was before runs recorded their recipe and their choice of weights.
std::string without_recipe(const std::string& file) {
    return with_record(file, [](Json& record) {
        for (auto entry = record.begin(); entry != record.end();)
            entry = entry.key().starts_with("recipe.") || entry.key().starts_with("ke") ? record.erase(entry)
                                                                                        : std::next(entry);
    });
}

// A shipped file as if another seed had trained it. Its last `spoilt` bytes become zeros.
std::string reseeded(const std::string& file, char seed, std::size_t spoilt) {
    std::string other = with_entry(file, "seed", {seed});
    std::fill(other.end() - static_cast<std::ptrdiff_t>(spoilt), other.end(), '\0');
    return other;
}

// Nats per token of a document in windows of 256, by a Session that is fed one token at a time.
double loss(const std::filesystem::path& file, const std::string& text) {
    const tools::OneThread alone;
    const Model model = Model::load(file);
    std::vector<Token> tokens = model.encode(text);
    tokens.insert(tokens.begin(), model.end_of_text()); // a document begins with this token
    double sum = 0;
    std::size_t scored = 0;
    for (std::size_t start = 0; start < tokens.size(); start += 256) {
        Session session(model, {.capacity = 256, .chunk = 1, .first_position = 0});
        for (std::size_t at = start; at + 1 < std::min(start + 256, tokens.size()); ++at, ++scored) {
            sum += test::nats(session.feed(std::span(tokens).subspan(at, 1)), tokens[at + 1]);
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

    static inline std::unique_ptr<ordo::test::TempDir> directory;
    static inline std::string text, short_text;
};

// The two files of rope are the same but for their seed. So the pooled variance is a quarter of the squared difference
// of none's files, with two degrees of freedom, and none's own is a half of it. Of the means of two, the squared errors
// are 1/8 and 1/4 of it. Together they have (3/8)^2 / (((1/8)^2 + (1/4)^2) / 2) = 3.6 degrees of freedom, rounded down.
TEST_F(LabCompare, MeansDifferencesAndTheirSpread) {
    const Result result = compare({"rope-1", "none-1", "rope-2", "none-2"});
    const double rope = loss(path("rope-1"), text);
    const double none[] = {loss(path("none-1"), text), loss(path("none-2"), text)};
    const double apart = std::abs(none[0] - none[1]), half = 3.1824 * std::sqrt(3.0 / 8) * apart;
    ASSERT_GT(apart, 1e-3) << "the files are too much alike to test anything";
    const tools::Figures& losses = table(result, "loss");
    EXPECT_EQ(cell(losses, {{"encoding", "rope"}}, "seeds"), 2);
    EXPECT_NEAR(cell(losses, {{"encoding", "rope"}}, "nll"), rope, 1e-4);
    EXPECT_NEAR(cell(losses, {{"encoding", "none"}}, "half"), 4.3027 * apart / 2, 2e-3);
    EXPECT_NEAR(cell(losses, {{"encoding", "rope"}}, "minus_none"), rope - (none[0] + none[1]) / 2, 1e-4);
    // A single comparison of one document. Nothing is known about other documents.
    EXPECT_NEAR(cell(losses, {{"encoding", "rope"}}, "half_minus"), half, 5e-3);
    EXPECT_NEAR(cell(table(result, "pairs"), {{"better", "none"}, {"worse", "rope"}}, "half_seeds"), half, 5e-3);
    EXPECT_TRUE(std::isnan(cell(losses, {{"encoding", "none"}}, "minus_none")));
    EXPECT_EQ(table(result, "pairs").rows.size(), 1u);
    EXPECT_TRUE(result.tables.at(0).title.starts_with("text.txt, "));
    EXPECT_TRUE(says(result, "Only the encoding and the seed differ between the 4 files"));
    EXPECT_TRUE(says(result, "pooled over the 2 encodings with two seeds or more (2 degrees of freedom)"));
}

// Computes each document's part of a difference by hand.
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
    const test::Where pair{{"better", "none"}, {"worse", "rope"}};
    const tools::Figures& pairs = table(result, "pairs");
    EXPECT_NEAR(cell(pairs, pair, "nll_less"), mean, 1e-4);
    EXPECT_NEAR(cell(pairs, pair, "half_documents"), by_documents, 2e-3);
    // Three errors together: of rope's and none's seeds, whose squares are as one to two, with two degrees of freedom
    // each, and of the documents with one.
    const double seeds = std::pow(cell(pairs, pair, "half_seeds") / 3.1824, 2),
                 document = std::pow(by_documents / 12.7062, 2), all = seeds + document;
    const double degrees = all * all / (seeds * seeds / 9 / 2 + seeds * seeds * 4 / 9 / 2 + document * document);
    const double t = degrees < 2 ? 12.7062 : degrees < 3 ? 4.3027 : degrees < 4 ? 3.1824 : 2.7764;
    EXPECT_NEAR(cell(pairs, pair, "half"), t * std::sqrt(all), 5e-3);
}

// A wider feed-forward layer: the file stands beside the ranking, and does not spoil the comparison of the others.
TEST_F(LabCompare, FilesOfAnotherSizeStandBesideTheRanking) {
    const std::string wide = path("wide").string();
    ordo::test::expect_success(ordo::test::run_program(
        ordo::test::words_in("train -q --corpus weights/heldout.txt --val weights/heldout.txt --tokens 256 --batch 1 "
                             "--eval-tokens 256 --threads 1 --ffn 360 --encoding none --seed 3 --tokenizer " +
                             path("none-1").string() + " --out " + wide)));
    const std::string trained_alike = with_record(file_content(path("none-1")), [](Json&) {});
    put_file(path("wide"), with_record(file_content(wide), [&](Json& record) { // as if it had the others' training
                 std::uint64_t length = 0;
                 std::memcpy(&length, trained_alike.data(), 8);
                 const Json like = Json::parse(trained_alike.substr(8, length)).at("__metadata__");
                 Json blueprint = Json::parse(record.at("blueprint").get<std::string>());
                 blueprint["window"] = 8;
                 for (const auto& [key, value] : like.items()) record[key] = value;
                 for (auto entry = record.begin(); entry != record.end();)
                     entry = like.contains(entry.key()) ? std::next(entry) : record.erase(entry);
                 record["blueprint"] = blueprint.dump(), record["seed"] = "3";
             }));
    const Result result = compare({"rope-1", "none-1", "rope-2", "none-2", "wide"});
    EXPECT_FALSE(says(result, "NOT CONTROLLED")) << result.found.at(1);
    EXPECT_EQ(table(result, "loss").rows.size(), 2u);
    const tools::Figures& beside = table(result, "beside");
    ASSERT_EQ(beside.rows.size(), 1u);
    EXPECT_EQ(beside.rows[0].at(test::column(beside, "trunk")), tools::Cell("windows 8 8 8 8 8, d_ff 360"));
    EXPECT_NEAR(cell(beside, {{"encoding", "none"}}, "nll"), loss(path("wide"), text), 1e-4);
    EXPECT_NEAR(cell(beside, {{"encoding", "none"}}, "minus_none"),
                loss(path("wide"), text) - cell(table(result, "loss"), {{"encoding", "none"}}, "nll"), 1e-4);
    const tools::Figures& runs = table(result, "runs");
    EXPECT_EQ(runs.rows.back().at(test::column(runs, "trunk")), tools::Cell("windows 8 8 8 8 8, d_ff 360"));
}

TEST_F(LabCompare, OneSeedHasAnIntervalOverDocumentsAlone) {
    const Result result = compare({"rope-1", "none-1"}, "two.txt");
    const tools::Figures& pairs = table(result, "pairs");
    ASSERT_EQ(pairs.rows.size(), 1u);
    const test::Where pair{{"better", "none"}, {"worse", "rope"}};
    EXPECT_GT(cell(pairs, pair, "half_documents"), 0);
    EXPECT_GT(cell(table(result, "loss"), {{"encoding", "rope"}}, "half_documents"), 0);
    for (const char* unknown : {"half", "half_minus"})
        EXPECT_TRUE(std::isnan(cell(table(result, "loss"), {{"encoding", "rope"}}, unknown))) << unknown;
    for (const char* unknown : {"half_seeds", "half", "p", "p_corrected", "beyond_chance"})
        EXPECT_TRUE(std::isnan(cell(pairs, pair, unknown))) << unknown;
    EXPECT_TRUE(says(result, "a difference cannot be told from chance"));
}

TEST_F(LabCompare, FilesThatWereTrainedOtherwiseAreNamed) {
    const std::string rope = file_content(path("rope-1")), none = file_content(path("none-1"));
    put_file(path("short"), with_entry(none, "tokens", "1024"));
    EXPECT_TRUE(says(compare({"rope-1", "short"}), "NOT CONTROLLED: short differ from rope-1 in tokens"));
    // An older record has a part of the recipe, and only the command line has the rest. This test changes only that
    // rest.
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

// Weights chosen by a held-out text cannot be compared with the last weights of a run.
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

// The comparison uses the recorded settings of a run, not the words of its command line.
TEST_F(LabCompare, RecordsAreComparedAndNotCommandLines) {
    const std::string none = file_content(path("none-1"));
    std::string reworded = none;
    reworded.replace(reworded.find("--lr 0.006"), 10, "--lr 6.0e-");
    put_file(path("reworded"), reworded);
    put_file(path("clipped"), with_entry(none, "recipe.clip", "2"));
    EXPECT_TRUE(says(compare({"rope-1", "reworded"}), "Only the encoding and the seed differ between the 2 files"));
    EXPECT_TRUE(says(compare({"rope-1", "clipped"}), "NOT CONTROLLED: clipped differ from rope-1 in recipe.clip"));
}

// The type of processor moves losses less than a seed does.
TEST_F(LabCompare, AnotherProcessorIsNamedAndStaysControlled) {
    put_file(path("moved"), with_entry(file_content(path("none-1")), "processor", "Some CPU with some kernels"));
    put_file(path("here"), with_entry(file_content(path("rope-1")), "processor", "Another CPU"));
    const Result result = compare({"here", "moved"});
    EXPECT_TRUE(says(result, "Only the encoding and the seed differ between the 2 files"));
    EXPECT_TRUE(says(result, "1 run on Another CPU, 1 run on Some CPU with some kernels"));
}

// Builds since 688c02d round Muon's products, and builds since 9f8f53cd those of attention. Such runs are compared with
// older ones, as those of another processor are.
TEST_F(LabCompare, OtherProductsAreNamedAndStayControlled) {
    const std::string shown = with_entry(file_content(path("none-1")), "processor", "Some CPU");
    put_file(path("rounded"),
             with_entry(with_entry(shown, "recipe.optimizer.products", "bf16"), "recipe.products.attention", "bf16"));
    put_file(path("older"), with_entry(file_content(path("rope-1")), "processor", "Some CPU"));
    const Result result = compare({"older", "rounded"});
    EXPECT_TRUE(says(result, "Only the encoding and the seed differ between the 2 files"));
    EXPECT_TRUE(says(result, "1 run on Some CPU, 1 run on Some CPU and Muon in bf16 and attention in bf16"));
}

// A loss on the training text says nothing about other texts.
TEST_F(LabCompare, ATextThatAModelLearnedFromIsNamed) {
    const std::string digest = sha256(text);
    put_file(path("learned"), with_entry(file_content(path("none-1")), "corpus.sha256", digest));
    put_file(path("finished"), with_entry(file_content(path("none-2")), "finish.sha256", digest));
    const Result result = compare({"rope-1", "learned", "finished"});
    EXPECT_TRUE(says(result, "NOT HELD OUT: learned, finished learned from text.txt"));
    EXPECT_TRUE(has(result.answer, "But text.txt is a training text, so this says nothing about other texts."));
    const Result other = compare({"rope-1", "learned"}, "two.txt");
    EXPECT_FALSE(says(other, "NOT HELD OUT"));
    EXPECT_FALSE(has(other.answer, "training text"));
}

Group group_of_losses(const std::string& name, const std::vector<double>& losses, int seed) {
    Group group{name, name, {}};
    for (const double loss : losses) group.runs[std::to_string(seed++)].nll = loss;
    return group;
}
Result judged(const std::vector<Group>& groups) {
    Result result;
    judge(groups, "text.txt", 100, result);
    return result;
}

TEST(LabCompareRuns, WithoutNoneTheAnswerComparesTheEncodingsThatThereAre) {
    const Group a = group_of_losses("a", {1, 2, 3}, 1);
    const std::string alike = judged({a, group_of_losses("b", {1.5, 2.5, 3.5}, 1)}).answer,
                      apart = judged({a, group_of_losses("b", {11, 12, 13}, 1)}).answer,
                      alone = judged({group_of_losses("a", {1}, 1), group_of_losses("b", {2}, 1)}).answer;
    EXPECT_TRUE(alike.ends_with(". Chance alone could explain the differences.")) << alike;
    EXPECT_TRUE(apart.ends_with(". Better by more than chance: a than b.")) << apart;
    EXPECT_TRUE(has(alone, "one seed, so chance alone could explain the differences.")) << alone;
    for (const std::string& answer : {alike, apart, alone}) EXPECT_FALSE(has(answer, "no encoding")) << answer;
}

// Deviations from the means of encodings: -1, 0, 1 and -2, 0, 2. The squares of their sums by seed are 18, of which 10
// are the deviations' own.
TEST(LabCompareRuns, SharedSeedsAreNotPairedAndTheAnswerSaysWhy) {
    const Group a = group_of_losses("a", {1, 2, 3}, 1);
    EXPECT_TRUE(
        says(judged({a, group_of_losses("b", {4, 6, 8}, 1)}), "share their seeds, and so the order of the texts"));
    EXPECT_TRUE(says(judged({a, group_of_losses("b", {4, 6, 8}, 1)}), "Here their correlation is 0.8."));
    EXPECT_TRUE(says(judged({a, group_of_losses("b", {8, 6, 4}, 1)}), "Here their correlation is -0.8."));
    EXPECT_FALSE(says(judged({a, group_of_losses("b", {4, 6, 8}, 2)}), "share their seeds"));
    EXPECT_FALSE(says(judged({a, group_of_losses("b", {4}, 1)}), "share their seeds"));
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
    EXPECT_TRUE(has(error_of([] { compare({"rope-1", "twin"}); }), "expected another seed than that of rope-1"));
}

// The kept results of runs, as bench/seeds.sh copies them, give the same comparison as the weights.
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
    const std::optional<Comparison> pair = lab::compare(rope, none, spread_of(kept.groups));
    ASSERT_TRUE(pair);
    const test::Where row{{"better", "none"}, {"worse", "rope"}};
    const tools::Figures& pairs = table(measured, "pairs");
    EXPECT_EQ(pair->documents, 2);
    EXPECT_NEAR(pair->mean, cell(pairs, row, "nll_less"), 1e-9);
    EXPECT_NEAR(pair->half(), cell(pairs, row, "half"), 1e-3);
}

} // namespace
} // namespace ordo::lab
