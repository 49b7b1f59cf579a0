// SPDX-License-Identifier: MIT
// Errors of verbs that are given a model or file of the wrong kind.
#include "tests/temp_dir.h"
#include "tests/tools/child.h"
#include "tests/tools/models.h"

#include <gtest/gtest.h>

namespace {

using namespace ordo::test;

TEST(CliBench, RefusesModelsThatDoNotDecodeByThemselves) {
    const auto bench = [](const std::string& family) {
        return run_program(
            {"bench", "-m", "tests/families/" + family, "-p", "4", "-n", "2", "-r", "1", "-t", "1", "-q"});
    };
    for (const char* family : {"t5", "t5-gated", "marian"}) expect_error(bench(family), 2, "found one with an encoder");
    expect_error(bench("bert"), 2, "found one that cannot decode");
    expect_success(bench("llama"));
}

// Reading an index of shards takes time linear in its length.
TEST(CliInfo, AnIndexOfManyTensorsIsReadAtOnce) {
    const TempDir dir;
    std::filesystem::copy("tests/families/llama", dir.path(), std::filesystem::copy_options::recursive);
    std::string index = "{\"weight_map\":{";
    for (int i = 0; i < 200'000; ++i)
        index += (i == 0 ? "\"t" : ",\"t") + std::to_string(i) + "\":\"model.safetensors\"";
    put_file(dir / "model.safetensors.index.json", index + "}}");
    std::filesystem::rename(dir / "model.safetensors", dir / "other.safetensors");
    const Outcome outcome = run_program({"info", dir.path().string()});
    expect_error(outcome, 5, "model.safetensors");
    expect_in_time(outcome, 4);
}

// If a text is expected, the error names the kind of the file.
TEST(CliTexts, FilesThatAreNoTextAreRefusedByKind) {
    const TempDir dir;
    put_file(dir / "a.pkl", std::string("\x80\x04\x95\0\0\0\0", 7));
    put_file(dir / "a.gguf", std::string("GGUF\3\0\0\0", 8));
    std::filesystem::resize_file(dir / "a.gguf", std::uintmax_t{1} << 28); // as large as a model
    put_file(dir / "gguf.txt", "GGUF is a format of files.\n");
    const std::string weights = model_file("rope"), out = (dir / "out").string();
    expect_error(run_program({"train", weights, "--out", out}), 2,
                 weights + ": expected a text, found a safetensors file");
    expect_error(run_program({"train", weights, "--out", out, "--byte-tokenizer"}), 2, "found a safetensors file");
    expect_error(run_program({"generate", "-f", (dir / "a.pkl").string()}), 2,
                 "expected a text, found a Python pickle");
    expect_error(run_program({"tokenize"}, {.input_file = (dir / "a.pkl").string()}), 2,
                 "standard input: expected a text, found a Python pickle");
    expect_error(run_program({"perplexity", "-f", (dir / "a.gguf").string()}), 2, "expected a text, found a GGUF file");
    expect_success(run_program({"tokenize", "-f", (dir / "gguf.txt").string()}));
    put_file(dir / "text.gguf", "No model at all.\n");
    expect_error(run_program({"generate", "-m", (dir / "text.gguf").string(), "-p", "x"}), 3,
                 "text.gguf: expected a GGUF file, found a text");
}

TEST(CliTexts, AModelThatIsNotThereIsSaidToBeMissing) {
    expect_error(run_program({"generate", "nofile.gguf"}), 5, "nofile.gguf: there is no such file");
    expect_error(run_program({"generate", "nofile.gguf", "-p", "a"}), 5, "nofile.gguf: No such file");
    for (const char* verb : {"generate", "tokenize", "logits", "fill", "embed", "translate"})
        expect_error(run_program({verb, "once upon"}, {.input = "a"}), 2,
                     std::string(verb) + ": expected a model file, found 'once upon'; a text goes after -p");
    expect_error(run_program({"perplexity", "once upon"}), 2, "found 'once upon'; the file of a text goes after -f");
    expect_error(run_program({"info", "once upon"}), 5, "once upon: No such file"); // info takes no text
}

TEST(CliTexts, ATextInThePlaceOfAModelIsToldWhereItGoes) {
    const TempDir dir;
    const std::string text = (dir / "story.txt").string();
    put_file(text, "Once upon a time there was a girl.\n");
    for (const char* verb : {"generate", "tokenize", "logits", "embed", "perplexity"})
        expect_error(run_program({verb, text}, {.input = "a"}), 3,
                     "story.txt: expected a model, found a text; the file of a text goes after -f");
    const std::string pointer = (dir / "lfs").string();
    put_file(pointer, "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 3\n");
    expect_error(run_program({"perplexity", pointer}), 3, "found a Git LFS pointer");
    const std::string named = (dir / "story.gguf").string();
    put_file(named, "Once upon a time\n");
    expect_error(run_program({"perplexity", named}), 3, "expected a GGUF file, found a text");
    put_file(text, "");
    expect_error(run_program({"generate", text, "-p", "a"}), 3, "story.txt: ");
}

} // namespace
