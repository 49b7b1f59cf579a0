// SPDX-License-Identifier: MIT
// Things that users pass instead of a model: names, URLs, pointer files, folders of another kind.
#include "tests/formats/hugging_face_folder.h"
#include "tests/tools/child.h"
#include "tests/tools/models.h"

namespace ordo {
namespace {

using namespace ordo::test;

TEST(WrongPlaces, NamesOnAServerAreNoFiles) {
    const TempDir empty;
    const Conditions here{.directory = empty.path().string()};
    for (const std::string name : {"gpt2", "openai-community/gpt2", "https://example.org/gpt2",
                                   "roneneldan/TinyStories-33M", "Qwen/Qwen2.5-0.5B"}) {
        const Outcome outcome = run_program({"generate", "-m", name, "-p", "a"}, here);
        expect_error(outcome, 5, "Ordo loads local files: download the directory first");
        EXPECT_NE(outcome.err.find(name), std::string::npos);
    }
    expect_error(run_program({"tokenize", "-m", "gpt2", "-p", "a"}, here), 5, "Ordo loads local files");
    expect_error(run_program({"info", "openai-community/gpt2"}, here), 5, "Ordo loads local files");
    expect_error(run_program({"generate", "openai-community/gpt2", "-p", "a"}, here), 5, "Ordo loads local files");
    for (const std::string file : {"model.gguf", "./gpt2", "a/b.safetensors", "/tmp/none/gpt2"}) {
        const Outcome outcome = run_program({"generate", "-m", file, "-p", "a"}, here);
        expect_error(outcome, 5, "No such file or directory");
        EXPECT_EQ(outcome.err.find("Ordo loads local files"), std::string::npos) << outcome.err;
    }
}

class WrongFolder : public HuggingFace {};

TEST_F(WrongFolder, WeightsInAFolderAreNamed) {
    put_file(folder_ / "notes.txt", "x");
    expect_refused("found a directory without config.json");
    put_file(folder_ / "of_transformers.safetensors", "x");
    expect_refused("found a directory without config.json; download it too, with the tokenizer's files");
    put_file(folder_ / "a.GGUF", "x");
    std::filesystem::copy_file(model_file("rope"), folder_ / "b.safetensors");
    expect_refused("found a directory without config.json; give one of its files: a.GGUF, b.safetensors");
}

TEST_F(WrongFolder, AnAdapterIsNoModel) {
    put_file(folder_ / "adapter_config.json", "{}");
    put_file(folder_ / "adapter_model.safetensors", "x");
    expect_refused("expected a model, found an adapter (LoRA)");
}

TEST_F(WrongFolder, APointerOfGitLfsIsNoTokenizer) {
    constexpr const char* pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 17\n";
    for (const char* name : {"tokenizer.json", "tokenizer_config.json", "config.json"}) {
        SCOPED_TRACE(name);
        take("llama");
        put_tokenizer();
        put_file(folder_ / name, pointer);
        expect_refused(std::string(name) + ": expected JSON, found a Git LFS pointer; fetch the file itself");
        std::filesystem::remove(folder_ / name);
    }
}

// Unsupported sampling values in a file give a warning when tokens are drawn. They never cause a refusal.
TEST_F(WrongFolder, AWrongWayToSampleIsAWarningWhereTokensAreDrawn) {
    take("llama");
    put_tokenizer();
    put_file(folder_ / "generation_config.json", R"({"do_sample": true, "top_k": -1})");
    const std::string model = folder_.path().string();
    EXPECT_NE(run_program({"generate", "-m", model, "-p", "A", "-n", "1"}).err.find("'top_k': expected a whole number"),
              std::string::npos);
    for (const std::string verb : {"logits", "tokenize", "info"}) {
        std::vector<std::string> words{verb, "-m", model, "-p", "A"};
        if (verb == "info") words = {verb, model};
        const Outcome outcome = run_program(words);
        expect_success(outcome);
        EXPECT_EQ(outcome.err, "") << verb;
    }
}

// A flag takes precedence over generation_config.json, and the file over Ordo's own values.
TEST_F(WrongFolder, AFlagBeatsTheFileAndTheFileBeatsOrdo) {
    take("llama");
    put_tokenizer();
    const auto text = [&](std::vector<std::string> more) {
        more.insert(more.begin(), {"generate", "-m", folder_.path().string(), "-p", "A", "-n", "24", "-s", "1", "-q",
                                   "--ignore-eos"});
        const Outcome outcome = run_program(more);
        expect_success(outcome);
        return outcome.out;
    };
    const std::vector<std::string> own = {"--temp", "2", "--top-k", "7", "--top-p", "0.9", "--min-p", "0"};
    const std::string usual = text({}), greedy = text({"--temp", "0"}), flags = text(own), hot = text({"--temp", "2"});
    put_file(folder_ / "generation_config.json", R"({"do_sample": false})");
    EXPECT_EQ(text({}), usual); // no sampling value
    put_file(folder_ / "generation_config.json", R"({"do_sample": false, "temperature": 0.6})");
    EXPECT_EQ(text({}), greedy);
    EXPECT_EQ(text(own), flags);
    put_file(folder_ / "generation_config.json",
             R"({"do_sample": true, "temperature": 2.0, "top_k": 7, "top_p": 0.9})");
    EXPECT_EQ(text({}), flags);
    EXPECT_EQ(text({"--temp", "0"}), greedy);
    for (const std::string& other : {greedy, flags, hot}) EXPECT_NE(usual, other) << "nothing depends on the values";
    EXPECT_NE(hot, flags);
}

TEST_F(WrongFolder, BlocksOfMlxAreNamed) {
    for (const char* key : {"quantization_config", "quantization"}) {
        take("llama");
        with(key, {{"group_size", 64}, {"bits", 4}});
        expect_refused(std::string("'") + key + "': expected none, and weights in F32, F16 or BF16");
        expect_refused("found MLX's blocks of 4 bits");
    }
    take("llama");
    with("quantization_config", {{"quant_method", "gptq"}, {"bits", 4}});
    expect_refused("'quant_method': expected none");
    take("llama");
    with("quantization_config", Json::object());
    expect_refused("'quantization_config': expected none");
}

TEST_F(WrongFolder, NumbersThatJsonDoesNotHaveAreNamed) {
    for (const char* word : {"Infinity", "-Infinity", "NaN"}) {
        take("llama");
        std::string text = config().dump();
        text.insert(1, std::string("\"time_step_limit\": [0.0, ") + word + "], ");
        put_file(folder_ / "config.json", text);
        const std::string name = word[0] == '-' ? word + 1 : word;
        expect_refused("expected a number, found " + name + ", which Python's json module writes");
    }
}

} // namespace
} // namespace ordo
