// SPDX-License-Identifier: MIT
#include "tests/lab/lab_run.h"
#include "tests/temp_dir.h"
#include "tests/tools/program.h"
#include "tools/cli/weights.h"

#include <cmath>
#include <cstring>

namespace ordo::lab {

extern const Experiment compare_experiment;

namespace {

using ordo::test::file_content;
using ordo::test::put_file;
using test::cell;
using test::table;

// The shipped file of an encoding as if another seed had made it: `spoilt` bytes at its end are zeros.
std::string reseeded(std::string file, char seed, std::size_t spoilt, const char* key = "\"seed\":\"1\"") {
    const std::size_t at = file.find(key);
    if (at == std::string::npos) throw std::runtime_error("no seed in the file");
    file[at + std::string_view(key).size() - 2] = seed;
    std::fill(file.end() - static_cast<std::ptrdiff_t>(spoilt), file.end(), '\0');
    return file;
}

// Nats per token of a document in windows of 256, from a Session that is fed one token at a time.
double loss(const std::filesystem::path& file, const std::string& text) {
    const test::OneThread alone;
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
            put_file(path(name + "-2"), reseeded(file, '2', name == "rope" ? 3000 : 90000));
        }
        for (int i = 0; i < 300; ++i) text += "The old dog ran home. ";
        put_file(*directory / "text.txt", text);
    }
    static void TearDownTestSuite() { directory.reset(); }

    static std::filesystem::path path(const std::string& name) { return *directory / (name + ".safetensors"); }
    static Result compare(const std::vector<std::string>& names) {
        const std::string corpus = (*directory / "text.txt").string();
        std::vector<std::string> files;
        for (const std::string& name : names) files.push_back(path(name).string());
        std::vector<const char*> words{"--corpus", corpus.c_str()};
        for (const std::string& file : files) words.insert(words.end(), {"--model", file.c_str()});
        return test::run(compare_experiment, words);
    }
    static bool says(const Result& result, std::string_view part) {
        return std::any_of(result.found.begin(), result.found.end(),
                           [&](const std::string& sentence) { return sentence.find(part) != std::string::npos; });
    }

    static inline std::unique_ptr<ordo::test::TempDir> directory;
    static inline std::string text;
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
    EXPECT_NEAR(cell(losses, {{"encoding", "rope"}}, "half_minus"), t * std::abs(first - second) / 2, 2e-3);
    EXPECT_TRUE(std::isnan(cell(losses, {{"encoding", "none"}}, "minus_none")));
    EXPECT_EQ(table(result, "pairs").rows.size(), 1u);
    EXPECT_TRUE(says(result, "Only the encoding and the seed differ between the 4 files"));
}

TEST_F(LabCompare, OneSeedTellsNothingOfChance) {
    const Result result = compare({"rope-1", "none-2"});
    EXPECT_TRUE(says(result, "nothing tells a difference from chance"));
    EXPECT_TRUE(std::isnan(cell(table(result, "loss"), {{"encoding", "rope"}}, "half")));
    EXPECT_TRUE(std::isnan(cell(table(result, "loss"), {{"encoding", "rope"}}, "minus_none")));
}

TEST_F(LabCompare, FilesThatWereTrainedOtherwiseAreNamed) {
    const std::string none = file_content(path("none-1"));
    const std::string tokens = "\"tokens\":\"" + tools::read_facts(path("none-1")).record.at("tokens") + "\"";
    put_file(path("short"), reseeded(none, tokens[tokens.size() - 2] == '4' ? '5' : '4', 0, tokens.c_str()));
    EXPECT_TRUE(says(compare({"rope-1", "short"}), "NOT CONTROLLED: short differ from rope-1 in tokens"));
    // The record has some of the recipe; the rest only the command says. Here that alone is changed.
    std::string other = none;
    other[other.find("--lr 0.003") + 9] = '4';
    put_file(path("other"), other);
    EXPECT_TRUE(says(compare({"rope-1", "other"}), "NOT CONTROLLED: other differ from rope-1 in command"));
    const std::string f32 = path("f32").string();
    ordo::test::expect_success(
        ordo::test::run_program({"convert", path("none-1").string(), f32, "--dtype", "f32", "-q"}));
    EXPECT_TRUE(says(compare({"rope-1", "f32"}), "NOT CONTROLLED: f32 differ from rope-1 in type of weights"));
}

// Weights that were picked by a held-out text are no pair of the last ones.
TEST_F(LabCompare, FilesOfOtherWeightsOfTheirRunsAreNamed) {
    const auto with = [](const std::string& entries) {
        std::string file = file_content(path("none-1"));
        std::uint64_t length = 0;
        std::memcpy(&length, file.data(), 8);
        const std::string key = "\"__metadata__\":{";
        file.insert(file.find(key) + key.size(), entries);
        length += entries.size();
        for (; length % 8 != 0; ++length) file.insert(8 + length, " ");
        std::memcpy(file.data(), &length, 8);
        return file;
    };
    put_file(path("last"), with("\"keep\":\"last\","));
    EXPECT_TRUE(says(compare({"rope-1", "last"}), "Only the encoding and the seed differ between the 2 files"));
    put_file(path("best"), with("\"keep\":\"best\",\"keep.every\":\"200\",\"keep.windows\":\"256\","));
    EXPECT_TRUE(says(compare({"rope-1", "best"}), "NOT CONTROLLED: best differ from rope-1 in keep"));
    put_file(path("rarer"),
             reseeded(with("\"keep\":\"best\",\"keep.every\":\"900\",\"keep.windows\":\"256\","), '3', 0));
    EXPECT_TRUE(says(compare({"best", "rarer"}), "NOT CONTROLLED: rarer differ from best in keep"));
}

// What a run recorded of itself counts, not the words it was asked for with.
TEST_F(LabCompare, RecordsAreComparedAndNotCommandLines) {
    const auto recorded = [](const std::string& name, const std::string& clip, const char* command) {
        std::string file = file_content(path(name));
        const std::string key = "\"__metadata__\":{";
        const std::string entries = "\"recipe.format\":\"1\",\"recipe.clip\":\"" + clip + "\",";
        if (const std::size_t at = file.find("--lr 0.003"); *command) file.replace(at, 10, command);
        file.insert(file.find(key) + key.size(), entries);
        std::uint64_t length = 0;
        std::memcpy(&length, file.data(), 8);
        length += entries.size();
        for (; length % 8 != 0; ++length) file.insert(8 + length, " ");
        std::memcpy(file.data(), &length, 8);
        return file;
    };
    put_file(path("one"), recorded("rope-1", "1", ""));
    put_file(path("reworded"), recorded("none-1", "1", "--lr 3.0e-"));
    put_file(path("clipped"), recorded("none-1", "2", ""));
    EXPECT_TRUE(says(compare({"one", "reworded"}), "Only the encoding and the seed differ between the 2 files"));
    EXPECT_TRUE(says(compare({"one", "clipped"}), "NOT CONTROLLED: clipped differ from one in recipe.clip"));
}

// rope's third seed is so bad that none is ahead in the mean, and yet behind it for the seeds that both have.
TEST_F(LabCompare, PairsAreJudgedBySeedsThatBothHave) {
    put_file(path("rope-3"), reseeded(file_content(path("rope-1")), '3', 2'000'000));
    const Result result = compare({"rope-1", "rope-2", "rope-3", "none-1", "none-2"});
    EXPECT_TRUE(says(result, "the best first: none"));
    EXPECT_TRUE(says(result, "rope is ahead of none by "));
    EXPECT_GT(cell(table(result, "pairs"), {{"better", "rope"}, {"worse", "none"}}, "nll_less"), 0);
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

} // namespace
} // namespace ordo::lab
