// SPDX-License-Identifier: MIT
// How the program reads texts: line ends, a typed beginning, and the number of bytes.
#include "model/model_access.h"
#include "tests/formats/hugging_face_folder.h"
#include "tests/tools/child.h"
#include "tests/tools/models.h"
#include "tools/cli/inputs.h"
#include "tools/train/documents.h"

#include <gtest/gtest.h>
#include <numeric>

namespace ordo {
namespace {

using namespace ordo::test;

std::vector<Token> fed(std::vector<std::string> words, const Conditions& conditions = {}) {
    words.insert(words.begin(), {"logits", "-m", model_file("rope"), "-q"});
    return Json::parse(out_of(words, conditions))["tokens"].get<std::vector<Token>>();
}

TEST(CliPrompts, ReadCrLfAsOneNewline) {
    std::string text = "a\r\n\r\nb\rc\r\r\nd\r\n";
    EXPECT_TRUE(tools::unify_newlines(text));
    EXPECT_EQ(text, "a\n\nb\rc\r\nd\n");
    text = "a\nb\r";
    EXPECT_FALSE(tools::unify_newlines(text));
    EXPECT_EQ(text, "a\nb\r");
}

// The tokens of the byte tokenizer. Token 256 begins a text.
TEST(CliPrompts, DropTheCarriageReturnsOfFilesAndPipes) {
    const TempDir dir;
    put_file(dir / "prompt.txt", "a\r\nb\r\n");
    const std::vector<Token> expected{256, 'a', '\n', 'b'};
    EXPECT_EQ(fed({"-f", (dir / "prompt.txt").string()}), expected);
    EXPECT_EQ(fed({}, {.input = "a\r\nb\r\n"}), expected);
    EXPECT_EQ(fed({"-p", "a\r\n"}), (std::vector<Token>{256, 'a', '\r', '\n'})); // -p is exact
    EXPECT_EQ(out_of({"tokenize"}, {.input = "a\r\n"}), "97 13 10\n");           // so is tokenize's input
    const std::vector<std::string> generate{"generate", "-n", "3", "--temp", "0", "-q"};
    EXPECT_EQ(out_of(generate, {.input = "a\r\n"}), "abcd\n");
    EXPECT_EQ(out_of({"generate", "-i", "-n", "2", "--temp", "0", "-q"}, {.input = "a\r\n"}), "bc\n");
}

TEST(CliPrompts, HeldOutTextsWithCrLfAreReadWithAWarning) {
    const TempDir dir;
    put_file(dir / "lf.txt", "abcd\nefgh\n");
    put_file(dir / "crlf.txt", "abcd\r\nefgh\r\n");
    const auto figures = [&](const char* name, const char* flag) {
        return run_program({"perplexity", flag, "-f", (dir / name).string(), "--format", "csv"});
    };
    const Outcome lf = figures("lf.txt", "-q"), crlf = figures("crlf.txt", "-v");
    expect_success(lf);
    expect_success(crlf);
    EXPECT_EQ(crlf.out, lf.out);
    EXPECT_NE(crlf.err.find("crlf.txt: lines end with CR LF, which is read as a newline"), std::string::npos);
    EXPECT_EQ(figures("crlf.txt", "-q").err, "");
}

TEST(CliPrompts, ABeginningThatIsTypedIsNotAddedAgain) {
    EXPECT_EQ(fed({"--special", "-p", "<|endoftext|>ab"}), (std::vector<Token>{256, 'a', 'b'}));
    EXPECT_EQ(fed({"--special", "-p", "ab"}), (std::vector<Token>{256, 'a', 'b'}));
    EXPECT_EQ(fed({"--special", "-p", "<|endoftext|><|endoftext|>"}), (std::vector<Token>{256, 256}));
    EXPECT_EQ(fed({"-p", "<|endoftext|>"}).size(), 14u); // as letters
    for (const char* verb : {"generate", "logits"}) {
        const std::string said = run_program({verb, "-m", model_file("rope"), "-p", "<|endoftext|>ab"}).err;
        EXPECT_NE(said.find("the prompt begins with '<|endoftext|>'"), std::string::npos) << said;
        EXPECT_NE(said.find("--special"), std::string::npos) << said;
    }
    EXPECT_EQ(run_program({"logits", "-m", model_file("rope"), "-p", "ab<|endoftext|>"}).err, "");
    EXPECT_EQ(run_program({"logits", "-m", model_file("rope"), "--special", "-p", "<|endoftext|>ab"}).err, "");
}

// A decoder that removes a leading space, as Llama's does, and a normalizer that shortens the text.
class DocumentBytes : public HuggingFace {
protected:
    void put(const Json& normalizer) {
        take("llama");
        put_tokenizer();
        Json tokenizer = Json::parse(file_content(folder_ / "tokenizer.json"));
        tokenizer["normalizer"] = normalizer;
        tokenizer["pre_tokenizer"] = {{"type", "Metaspace"}, {"replacement", "\u2581"}, {"prepend_scheme", "always"}};
        tokenizer["decoder"] = tokenizer["pre_tokenizer"];
        Json& vocab = tokenizer["model"]["vocab"];
        vocab.erase(std::string(1, 'A' + 55)); // the letter with the id 59
        vocab["\u2581"] = 59;
        put_file(folder_ / "tokenizer.json", tokenizer.dump());
    }
    void expect_bytes(const std::string& text, const std::vector<int>& expected) {
        const std::vector<tools::Document> documents = tools::read_documents(text, Model::load(folder_.path()), "text");
        ASSERT_EQ(documents.size(), 1u);
        const std::vector<int> bytes(documents[0].bytes.begin(), documents[0].bytes.end());
        EXPECT_EQ(bytes, expected);
        EXPECT_EQ(std::accumulate(bytes.begin(), bytes.end(), std::size_t{0}), text.size());
    }
};

TEST_F(DocumentBytes, CountSpacesThatDecodingDrops) {
    put(nullptr);
    expect_bytes("AB C  D", {0, 1, 1, 1, 1, 1, 1, 1}); // the first word mark is not a byte of the text
}

TEST_F(DocumentBytes, SumToTheTextWhereDecodingGivesAnother) {
    put({{"type", "Replace"}, {"pattern", {{"String", "XX"}}}, {"content", "X"}});
    expect_bytes("AXXBXX", {0, 1, 2, 1, 2}); // 4 letters share 6 bytes, and end at 1.5, 3, 4.5 and 6
}

} // namespace
} // namespace ordo
