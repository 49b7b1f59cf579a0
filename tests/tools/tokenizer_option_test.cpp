// SPDX-License-Identifier: MIT
// --tokenizer of ordo generate and ordo convert. The continuation of tests/families/gpt-neo-bin is known from its
// transcription (expected.json). The folder has no tokenizer.
#include "model/model_access.h"
#include "ordo.h"
#include "tests/tools/child.h"
#include "tests/tools/models.h"

#include <gtest/gtest.h>

namespace {

namespace fs = std::filesystem;
using namespace ordo::test;
using Words = std::vector<std::string>;

const std::string bare = "tests/families/gpt-neo-bin";

// Token i is the character '0' + i.
std::string tokenizer_of(int tokens) {
    Json vocab = Json::object();
    for (int i = 0; i < tokens; ++i) vocab[std::string(1, static_cast<char>('0' + i))] = i;
    return Json{{"version", "1.0"},
                {"decoder", {{"type", "Fuse"}}},
                {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", Json::array()}}}}
        .dump();
}

std::string text_of(const Json& tokens) {
    std::string text;
    for (const int token : tokens) text += static_cast<char>('0' + token);
    return text;
}

class CliTokenizer : public testing::Test {
protected:
    CliTokenizer() {
        const Json known = Json::parse(file_content(bare + "/expected.json"))["cases"][0];
        prompt_ = text_of(known["tokens"]);
        story_ = prompt_ + text_of(known["greedy"]) + "\n";
        fs::create_directory(dir_ / "elsewhere");
        fs::create_directory(dir_ / "whole");
        for (const char* name : {"config.json", "pytorch_model.bin"})
            fs::copy_file(fs::path(bare) / name, whole() / name);
        for (const fs::path& folder : {elsewhere(), whole()}) put_file(folder / "tokenizer.json", tokenizer_of(64));
    }
    fs::path elsewhere() const { return dir_ / "elsewhere"; }
    fs::path whole() const { return dir_ / "whole"; } // the model with the tokenizer
    std::string path(const std::string& name) const { return (dir_ / name).string(); }

    Words words(const std::string& model, const Words& more = {}) const {
        Words all{"generate", "-m", model, "-p", prompt_, "-n", "12", "--temp", "0", "-q"};
        all.insert(all.end(), more.begin(), more.end());
        return all;
    }
    std::string written(const std::string& model, const std::string& tokenizer = {}) const {
        return out_of(words(model, tokenizer.empty() ? Words() : Words{"--tokenizer", tokenizer}));
    }

    const TempDir dir_;
    std::string prompt_, story_;
};

TEST_F(CliTokenizer, VerbsThatTakeATextNameTheOptionForAModelWithoutOne) {
    const std::string has_none = bare + ": has no tokenizer; --tokenizer PATH takes one from elsewhere";
    expect_error(run_program(words(bare)), 3, has_none);
    const std::string text = path("text");
    put_file(text, prompt_);
    for (const char* verb : {"perplexity", "logits"}) {
        expect_error(run_program({verb, "-m", bare, "-f", text, "-q"}), 3, has_none);
        const std::string taken = out_of({verb, "-m", bare, "-f", text, "-q", "--tokenizer", elsewhere().string()}),
                          own = out_of({verb, "-m", whole().string(), "-f", text, "-q"});
        const auto after_name = [](const std::string& out) { return out.substr(out.rfind("\"tokens\"") + 1); };
        EXPECT_EQ(after_name(taken), after_name(own));
    }
    EXPECT_EQ(run_program({"logits", "-m", bare, "--tokens", "1,2"}).code, 0);
    EXPECT_NE(out_of({"info", bare}).find("tokenizer: none"), std::string::npos);
}

TEST_F(CliTokenizer, GenerateWritesAsWithTheTokenizerInTheFolder) {
    put_file(dir_ / "named.json", tokenizer_of(64));
    out_of({"convert", whole().string(), path("own.safetensors"), "-q"});
    EXPECT_EQ(written(whole().string()), story_);
    for (const std::string& tokenizer : {elsewhere().string(), path("elsewhere/tokenizer.json"), path("named.json"),
                                         whole().string(), path("own.safetensors")})
        EXPECT_EQ(written(bare, tokenizer), story_) << tokenizer;
    put_file(whole() / "tokenizer.json", "{}"); // not a readable tokenizer
    EXPECT_EQ(written(whole().string(), elsewhere().string()), story_);
}

TEST_F(CliTokenizer, TakesThatOfAGguf) {
    out_of({"convert", model_file("rope"), path("rope.gguf"), "-q"});
    const Words random{"generate", "-m", model_file("random"), "-p", "ab", "-n", "8", "--temp", "0", "-q"};
    Words other = random;
    other.insert(other.end(), {"--tokenizer", path("rope.gguf")});
    EXPECT_EQ(out_of(other), out_of(random));
}

// A llama2.c file of dim 4, hidden 6, 1 layer, 2 heads, 1 key head, 3 tokens, 3 positions, as in llama2c.h.
TEST_F(CliTokenizer, TakesALlama2cVocabulary) {
    constexpr int floats = 3 * 4 + 4 + 4 * 4 + 2 * 2 * 4 + 4 * 4 + 4 + 3 * 6 * 4 + 4 + 3 * 2;
    const std::int32_t header[] = {4, 6, 1, 2, 1, 3, 3};
    std::string tokens("\x01\0\0\0", 4);
    for (const char c : {'a', 'b', 'c'}) tokens += std::string(4, '\0') + std::string("\x01\0\0\0", 4) + c;
    const fs::path model = whole() / "model.bin", vocabulary = elsewhere() / "tokenizer.bin";
    put_file(model, std::string(reinterpret_cast<const char*>(header), sizeof header) + std::string(4 * floats, '\0'));
    put_file(vocabulary, tokens);
    const auto from = [](const std::string& file, const Words& more = {}) {
        Words all{"generate", "-m", file, "-p", "a", "-n", "1", "--temp", "0", "-q"};
        all.insert(all.end(), more.begin(), more.end());
        return run_program(all);
    };
    expect_error(from(model), 3, "--tokenizer PATH");
    const Outcome taken = from(model, {"--tokenizer", vocabulary});
    expect_success(taken);
    out_of({"convert", model, path("a.safetensors"), "--tokenizer", vocabulary, "-q"});
    fs::copy_file(vocabulary, whole() / "tokenizer.bin");
    EXPECT_EQ(taken.out, from(model).out);
    EXPECT_EQ(taken.out, from(path("a.safetensors")).out);
}

TEST_F(CliTokenizer, ConvertWritesAFileThatGeneratesTheSame) {
    const std::string tokenizer = elsewhere().string();
    for (const Words& type : {Words{}, Words{"--dtype", "f32", "--no-accuracy"}}) {
        Words convert{"convert", bare, path("a.safetensors"), "--tokenizer", tokenizer, "-q"};
        convert.insert(convert.end(), type.begin(), type.end());
        out_of(convert);
        EXPECT_EQ(written(path("a.safetensors")), story_);
    }
    // Into an Ordo file without a tokenizer, and in place of a file's own tokenizer.
    out_of({"convert", bare, path("silent.safetensors"), "-q"});
    put_file(dir_ / "few.json", tokenizer_of(48));
    out_of({"convert", path("silent.safetensors"), path("b.safetensors"), "--tokenizer", path("few.json"), "-q"});
    EXPECT_EQ(written(path("b.safetensors")), story_); // the 48 tokens are enough for the story
    out_of({"convert", path("b.safetensors"), path("c.safetensors"), "--tokenizer", tokenizer, "-q"});
    EXPECT_EQ(written(path("c.safetensors")), story_);
    EXPECT_EQ(out_of({"tokenize", "-m", path("c.safetensors"), "-p", "n"}), "62\n");
    // Only text is sampled.
    put_file(dir_ / "sampling.json", R"({"do_sample": true, "top_k": 3})");
    Words recommending{"convert", path("silent.safetensors"), path("d.safetensors"), "--generation-config",
                       path("sampling.json")};
    expect_error(run_program(recommending), 2, "expected a tokenizer in OUT");
    recommending.insert(recommending.end(), {"--tokenizer", tokenizer, "-q"});
    out_of(recommending);
    EXPECT_EQ(ordo::Model::load(path("d.safetensors"), {}).sampling().top_k, 3);
}

TEST_F(CliTokenizer, RefusesMoreTokensThanRows) {
    put_file(dir_ / "many.json", tokenizer_of(65));
    const std::string phrase =
        path("many.json") + ": tokenizer: expected at most 64 tokens, as " + bare + " has rows for, found 65";
    expect_error(run_program(words(bare, {"--tokenizer", path("many.json")})), 3, phrase);
    expect_error(run_program({"convert", bare, path("out.gguf"), "--tokenizer", path("many.json")}), 3, phrase);
    expect_error(run_program({"convert", bare, path("out"), "--tokenizer", path("many.json")}), 3, phrase);
    EXPECT_FALSE(fs::exists(path("out")));
}

TEST_F(CliTokenizer, RefusesWhatHoldsNone) {
    for (const std::string& none : {bare, std::string("README.md"), std::string("weights")})
        expect_error(run_program(words(bare, {"--tokenizer", none})), 3, none);
    expect_error(run_program(words(bare, {"--tokenizer", path("absent")})), 5, "absent");
}

// The reference's continuation repeats a single token. If that token ends the text, it is never written.
TEST_F(CliTokenizer, SpecialTokensAreTheTokenizersOwnElseTheModels) {
    const Json known = Json::parse(file_content(bare + "/expected.json"))["cases"][0];
    const Json ends{{"eos_token_id", known["greedy"][0]}};
    Json config = Json::parse(file_content(whole() / "config.json"));
    config.update(ends);
    fs::remove(whole() / "tokenizer.json");
    put_file(whole() / "config.json", config.dump());
    EXPECT_EQ(written(whole().string(), elsewhere().string()), prompt_ + "\n");
    put_file(elsewhere() / "generation_config.json", R"({"eos_token_id": 1})");
    EXPECT_EQ(written(whole().string(), elsewhere().string()), story_);
    put_file(elsewhere() / "generation_config.json", ends.dump());
    EXPECT_EQ(written(bare, elsewhere().string()), prompt_ + "\n");
    EXPECT_EQ(written(bare, path("elsewhere/tokenizer.json")), prompt_ + "\n");
    out_of({"convert", bare, path("a.safetensors"), "--tokenizer", elsewhere().string(), "-q"});
    EXPECT_EQ(written(path("a.safetensors")), prompt_ + "\n");
}

TEST_F(CliTokenizer, ConvertKeepsTheFilesThatItIsReadFrom) {
    put_file(elsewhere() / "generation_config.json", "{}");
    put_file(elsewhere() / "config.json", "{}");
    for (const auto& entry : fs::directory_iterator(elsewhere())) {
        const std::string out = entry.path().string(), before = file_content(out);
        for (const std::string& tokenizer : {elsewhere().string(), path("elsewhere/tokenizer.json")}) {
            if (tokenizer != elsewhere() && entry.path().filename() == "config.json") continue; // not opened
            expect_error(run_program({"convert", bare, out, "--tokenizer", tokenizer}), 2,
                         "expected another file than ");
            EXPECT_EQ(file_content(out), before);
        }
    }
}

TEST_F(CliTokenizer, AnotherModelInAConversationHasItsOwn) {
    Words talk{"generate", "-i", "-m", bare, "--tokenizer", elsewhere().string(), "-n", "5", "--temp", "0", "-q"};
    const std::string out = out_of(talk, {.input = prompt_ + "\n/model " + model_file("rope") + "\n/new\na\n"});
    EXPECT_NE(out.find(story_.substr(prompt_.size(), 5)), std::string::npos) << out;
    EXPECT_NE(out.find("bcdef"), std::string::npos) << out;
}

} // namespace
