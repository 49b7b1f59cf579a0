// SPDX-License-Identifier: MIT
// Text from files cannot control a terminal (family E12): names of files, metadata, tokens, templates, texts and tables
// that hold an OSC 52, which sets the clipboard, and U+202E, which reverses the order of the letters after it.
#include "tests/model/word_tokenizer.h"
#include "tests/tools/models.h"
#include "tests/tools/terminal.h"

#include <gtest/gtest.h>

namespace {

namespace fs = std::filesystem;
using namespace ordo::test;

using Words = std::vector<std::string>;

const std::string evil = "\033]52;c;x\a\u202e", shown = R"(\x1b]52;c;x\x07\xe2\x80\xae)";

// The program's own sequences are colours and ESC [ K.
void expect_harmless(const Watched& watched, int code = 0) {
    EXPECT_EQ(watched.code, code) << watched.written;
    for (const char* sequence : {"\033]", "\a", "\u202e", "\u0085", "\033[31m"})
        EXPECT_EQ(watched.written.find(sequence), std::string::npos) << watched.written;
}

class CliEscapes : public testing::Test {
protected:
    // A model of tests/families or tests/hostile in a folder with that name, with a tokenizer that has it, too.
    std::string folder(const fs::path& from, const std::string& tokenizer) const {
        const fs::path to = dir_ / ("m" + evil);
        fs::create_directories(to);
        for (const char* file : {"config.json", "model.safetensors"})
            fs::copy_file(from / file, to / file, fs::copy_options::overwrite_existing);
        put_file(to / "tokenizer.json", tokenizer);
        return to.string();
    }
    std::string path(const std::string& name) const { return (dir_ / (name + evil)).string(); }

    TempDir dir_;
};

TEST_F(CliEscapes, InMetadata) {
    for (const char* format : {"text", "json"}) {
        const Watched watched = run_in_terminal({"info", model_file("rope"), "--format", format}, 80);
        expect_harmless(watched);
        EXPECT_NE(watched.written.find("[31mup"), std::string::npos);
    }
}

// The tokens are bytes, with a newline, a tab and U+0085 at the end.
TEST_F(CliEscapes, InATextThatIsWritten) {
    const Words decode{"tokenize", "--decode", "27,93,53,50,59,99,59,120,7,226,128,174,10,9,194,133,97"};
    const std::string raw = evil + "\n\t\u0085a", end = R"(\xc2\x85a)";
    EXPECT_EQ(out_of(decode), raw); // a pipe gets every byte
    const Watched watched = run_in_terminal(decode, 80);
    expect_harmless(watched);
    EXPECT_NE(watched.written.find(shown + "\r\n\t" + end), std::string::npos) << watched.written;
    const Words generate{"generate", "-p", raw, "-n", "1", "--temp", "0", "-q"};
    EXPECT_EQ(out_of(generate).find(raw), 0u);
    const Watched generated = run_in_terminal(generate, 80);
    expect_harmless(generated);
    EXPECT_NE(generated.written.find(shown), std::string::npos) << generated.written;
    EXPECT_NE(generated.written.find("    " + end), std::string::npos) << generated.written;
}

TEST_F(CliEscapes, InWhatAModelHolds) {
    const fs::path from = "tests/hostile/convert-padded";
    Json tokenizer = Json::parse(file_content(from / "tokenizer.json")), vocab = Json::object();
    for (const auto& [token, id] : tokenizer["model"]["vocab"].items()) vocab[id < 3 ? token : evil + token] = id;
    tokenizer["model"]["vocab"] = vocab;
    tokenizer[evil] = 1;
    const std::string model = folder(from, tokenizer.dump());
    put_file(model + "/chat_template.jinja", "{{ '<|im_start|>system\nYou are " + evil + ".<|im_end|>\n' }}");
    put_file(model + "/tokenizer_config.json", Json{{evil, 1}, {"eos_token", evil + "d"}}.dump());
    put_file(dir_ / "text", "abcabc");
    for (const Words& words : std::vector<Words>{
             {"info", model},
             {"info", model, "--format", "json"},
             {"tokenize", model, "-v", "-p", "abc"},
             {"tokenize", model, "--decode", "3 4 5"},
             {"tokenize", model, "--decode", "3 4 5", "--format", "json"},
             {"generate", model, "-p", "a", "-n", "9", "-v", "--ignore-eos"},
             {"generate", model, "-p", "a", "-n", "9", "-v", "--chat"},
             {"generate", model, "-p", "a", "-n", "9", "-v", "--encodings", "none;rope", "--force-encoding"},
             {"logits", model, "-p", "abc", "-v"},
             {"perplexity", model, "-f", (dir_ / "text").string(), "-v"},
             {"embed", model, "-p", "abc", "-v"},
             {"bench", model, "-p", "2", "-n", "1", "-r", "1"},
             {"convert", model, path("out") + ".safetensors", "--dtype", "f16"},
         }) {
        SCOPED_TRACE(words[0]);
        const Watched watched = run_in_terminal(words, 200);
        expect_harmless(watched);
        EXPECT_NE(watched.written.find(words.back() == "json" ? "\\u001b]52" : "x1b]52"), std::string::npos)
            << watched.written;
    }
}

TEST_F(CliEscapes, InTheWordsThatAreFilledInAndTranslated) {
    std::string tokenizer = word_tokenizer();
    for (int i = 8; i < word_vocabulary; ++i) {
        const std::string word = "\"w" + std::to_string(i) + "\"";
        tokenizer.replace(tokenizer.find(word), word.size(),
                          "\"\\u001b]52;c;x\\u0007\u202e" + std::to_string(i) + "\"");
    }
    const std::string bert = folder("tests/families/bert", tokenizer);
    for (const char* format : {"text", "md", "csv", "json"}) {
        const Watched watched =
            run_in_terminal({"fill", bert, "-p", "the [MASK] sat", "-k", "60", "--format", format}, 80);
        expect_harmless(watched);
        EXPECT_NE(watched.written.find("52;c;x"), std::string::npos) << watched.written;
    }
    const std::string t5 = folder("tests/families/t5-gated", tokenizer);
    const Watched watched = run_in_terminal({"translate", t5, "-p", "the cat sat", "-n", "9", "-v"}, 80);
    expect_harmless(watched);
    EXPECT_NE(watched.written.find(shown), std::string::npos) << watched.written;
}

TEST_F(CliEscapes, InTablesAndTextsThatAreReported) {
    std::string rows = "task,encoding,seed,steps,times,length,examples,exact,asked,right,ended\n";
    for (const char* seed : {"1", "2", "3"}) rows += "reverse," + evil + "," + seed + ",100,1,5,100,50,300,300,0\n";
    fs::create_directories(dir_ / "a");
    put_file(dir_ / "a/tasks-runs.csv", rows);
    for (const char* format : {"text", "md", "csv", "json"}) {
        const Watched watched =
            run_in_terminal({"lab", "compare", "--all", "--model", dir_.path().string(), "--format", format}, 80);
        expect_harmless(watched);
        EXPECT_NE(watched.written.find("52;c;x"), std::string::npos) << watched.written;
    }
    const Watched attention =
        run_in_terminal({"lab", "attention", "--quick", "--model", model_file("rope"), "--prompt", evil + "abc"}, 200);
    expect_harmless(attention);
    std::string text;
    for (int i = 0; i < 400; ++i) text += evil + " sat.\n" + (i % 20 == 19 ? "<|endoftext|>\n" : "");
    put_file(path("text"), text);
    expect_harmless(run_in_terminal({"train",   path("text"), "--out",    path("w"), "--byte-tokenizer",
                                     "--vocab", "257",        "--layers", "1",       "--dim",
                                     "16",      "--heads",    "2",        "--ffn",   "32",
                                     "--ctx",   "16",         "--batch",  "4",       "--tokens",
                                     "640"},
                                    200));
}

TEST_F(CliEscapes, InWhatIsRefused) {
    const std::string model = folder("tests/hostile/convert-padded", "{}");
    const auto expect_refused = [](const Words& words, int code) {
        const Watched watched = run_in_terminal(words, 200);
        expect_harmless(watched, code);
        EXPECT_NE(watched.written.find(shown), std::string::npos) << watched.written;
    };
    expect_refused({"generate", model, "-p", "a"}, 3); // its tokenizer.json
    put_file(model + "/config.json", Json{{"model_type", evil}, {"architectures", {evil}}}.dump());
    expect_refused({"info", model}, 3);
    put_file(model + "/config.json", "{\"" + evil + "\":");
    expect_refused({"info", model}, 3);
    expect_refused({"info", path("absent")}, 5);
    expect_refused({"generate", "--" + evil}, 2);
    expect_refused({evil}, 2);
    expect_refused({"lab", evil}, 2);
    expect_refused({"table", evil}, 2);
}

} // namespace
