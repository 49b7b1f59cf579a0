// SPDX-License-Identifier: MIT
// fill, embed and translate on directories in Hugging Face's layout: fixtures of tests/families with a tokenizer added.
#include "model/model.h"
#include "tests/model/small_models.h"
#include "tests/model/word_tokenizer.h"
#include "tests/tools/program.h"

#include <cmath>
#include <gtest/gtest.h>

namespace {

using namespace ordo;
using namespace ordo::test;

class EncoderVerbs : public testing::Test {
protected:
    std::string family(const std::string& name) const {
        const std::filesystem::path to = dir_ / name;
        std::filesystem::create_directories(to);
        for (const char* file : {"config.json", "model.safetensors"})
            std::filesystem::copy_file("tests/families/" + name + "/" + file, to / file);
        put_file(to / "tokenizer.json", word_tokenizer());
        return to.string();
    }
    const TempDir dir_;
};

TEST_F(EncoderVerbs, FillPrintsWhatTheLibrarySays) {
    const std::string folder = family("bert");
    const Model model = Model::load(folder);
    const FilledText filled = fill(model, "the [MASK] sat", 3);
    const Json json = json_of({"fill", "-m", folder, "-p", "the [MASK] sat", "-k", "3", "--format", "json"});
    ASSERT_EQ(json.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) {
        const Candidate& expected = filled.blanks.at(0).best.at(i);
        EXPECT_EQ(json[i]["position"], 2);
        EXPECT_EQ(json[i]["id"], expected.token);
        EXPECT_EQ(json[i]["token"], model.decode({&expected.token, 1}));
        EXPECT_NEAR(json[i]["probability"].get<double>(), expected.probability, 1e-6);
    }
    const std::string text = out_of({"fill", folder, "-p", "the [MASK] sat", "-k", "1"});
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
    EXPECT_EQ(out_of({"fill", folder}, {.input = "the [MASK] sat\n"}),
              out_of({"fill", folder, "-p", "the [MASK] sat"}));
    expect_error(run_program({"fill", "-m", folder, "-p", "the cat"}), 2, "expected [MASK]");
    expect_error(run_program({"fill", "-m", folder, "-p", "[MASK]", "-k", "0"}), 2, "top-k");
    // tokenizer_config.json names the mask token.
    put_file(dir_ / "bert" / "tokenizer_config.json", R"({"mask_token":{"content":"cat"}})");
    EXPECT_EQ(json_of({"fill", "-m", folder, "-p", "the cat sat", "-k", "1", "--format", "json"}).size(), 1u);
    expect_error(run_program({"fill", "-m", folder, "-p", "the [MASK]"}), 2, "expected cat");
}

TEST_F(EncoderVerbs, EmbedPrintsAVectorForEachLine) {
    const std::string folder = family("bert");
    const std::string lines = "the cat\n\nsat\n";
    const Json json = json_of({"embed", "-m", folder, "-p", lines, "--format", "json"});
    ASSERT_EQ(json.size(), 2u);
    EXPECT_EQ(json[0]["text"], "the cat");
    EXPECT_EQ(json_of({"embed", "-m", folder, "-p", "the cat\r\n\r\nsat\r\n", "--format", "json"}), json);
    const std::vector<float> expected = embed(Model::load(folder), "the cat");
    const auto found = json[0]["vector"].get<std::vector<float>>();
    EXPECT_LE(difference(found, expected), 1e-6);
    double square = 0;
    for (const float x : found) square += static_cast<double>(x) * x;
    EXPECT_NEAR(square, 1, 1e-5);
    const std::string csv = out_of({"embed", "-m", folder, "--raw", "--pooling", "first"}, {.input = lines});
    EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 2);
    EXPECT_EQ(std::count(csv.begin(), csv.end(), ','), 2 * 31);
    EXPECT_NEAR(std::stof(csv), embed(Model::load(folder), "the cat", {Pooling::first, false}).front(), 1e-6);
    expect_error(run_program({"embed", "-m", folder, "-p", "\n"}), 2, "expected a text");
}

TEST_F(EncoderVerbs, TranslatePrintsAnAnswerToEachLine) {
    const std::string folder = family("t5-gated");
    GenerateOptions options;
    options.max_tokens = 6;
    options.sampling.temperature = 0;
    const Model model = Model::load(folder);
    const std::string one = generate(model, "the cat sat", options).text, two = generate(model, "sat", options).text;
    EXPECT_NE(one, two);
    EXPECT_EQ(out_of({"translate", "-m", folder, "-n", "6"}, {.input = "the cat sat\n\nsat\n"}),
              one + "\n\n" + two + "\n");
    EXPECT_EQ(out_of({"generate", "-m", folder, "-n", "6", "--temp", "0", "-q", "-p", "sat"}), two + "\n");
    expect_error(run_program({"translate", "-m", family("bert"), "-p", "the"}), 2, "expected a model with an encoder");
    expect_error(run_program({"logits", "-m", folder, "-p", "the"}), 2, "an input for the encoder");
}

TEST_F(EncoderVerbs, AConvertedModelSaysTheSame) {
    for (const std::string name : {"bert", "t5"}) {
        const std::string folder = family(name), file = (dir_ / (name + ".safetensors")).string();
        expect_success(run_program({"convert", folder, file, "-q"}));
        if (name == "bert")
            EXPECT_EQ(out_of({"fill", "-m", folder, "-p", "the [MASK] sat"}),
                      out_of({"fill", "-m", file, "-p", "the [MASK] sat"}));
        else
            EXPECT_EQ(out_of({"translate", "-m", folder, "-p", "the cat", "-n", "8"}),
                      out_of({"translate", "-m", file, "-p", "the cat", "-n", "8"}));
        EXPECT_EQ(out_of({"embed", "-m", folder, "-p", "the cat"}), out_of({"embed", "-m", file, "-p", "the cat"}));
    }
}

} // namespace
