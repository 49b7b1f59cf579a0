// SPDX-License-Identifier: MIT
// Compares GPT-2's own vocabulary with the ids that llama.cpp's project publishes for its 47 test strings.
// The files are not part of the repository; see $ORDO_CONFORMANCE.
#include "tests/json.h"
#include "text/tokenizer.h"

#include "text_samples.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace ordo {
namespace {

using test::Json;

std::filesystem::path conformance_file(const std::string& name) {
    const char* folder = std::getenv("ORDO_CONFORMANCE");
    return std::filesystem::path(folder != nullptr ? folder : "../shared/conformance") / "tokenizers" / name;
}

std::string read(const std::string& name) {
    std::ifstream file(conformance_file(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The first published form of GPT-2's tokenizer.json, without later fields.
std::string gpt2_json(bool pairs) {
    std::istringstream lines(read("gpt2/merges.txt"));
    Json merges = Json::array();
    for (std::string line; std::getline(lines, line);) {
        if (line.empty() || line.starts_with("#version")) continue;
        const std::size_t space = line.find(' ');
        merges.push_back(pairs ? Json{line.substr(0, space), line.substr(space + 1)} : Json(line));
    }
    return R"({"version": "1.0", "truncation": null, "padding": null, "added_tokens": [{"id": 50256, "special": true,
        "content": "<|endoftext|>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": true}],
        "normalizer": null,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true},
        "post_processor": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": false},
        "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true},
        "model": {"dropout": null, "unk_token": null, "continuing_subword_prefix": "", "end_of_word_suffix": "",
        "fuse_unk": false, "vocab": )" +
           read("gpt2/vocab.json") + R"(, "merges": )" + merges.dump() + "}}";
}

class Gpt2Conformance : public testing::Test {
protected:
    void SetUp() override {
        if (!std::filesystem::exists(conformance_file("gpt2/vocab.json")))
            GTEST_SKIP() << "no conformance data at " << conformance_file("gpt2") << ": set ORDO_CONFORMANCE";
    }
};

TEST_F(Gpt2Conformance, GivesThePublishedIds) {
    const std::string strings = read("ggml-vocab-gpt-2.gguf.inp"), separator = "\n__ggml_vocab_test__\n";
    std::istringstream lines(read("ggml-vocab-gpt-2.gguf.out"));
    for (const bool pairs : {false, true}) {
        const auto tokenizer = tokenizer_from_json(gpt2_json(pairs), "gpt2");
        ASSERT_EQ(tokenizer->vocab_size(), 50257);
        EXPECT_EQ(tokenizer->end_of_text(), 50256);
        const auto copy = tokenizer_from_json(tokenizer->to_json(), "copy");
        lines.clear();
        lines.seekg(0);
        int compared = 0;
        for (std::size_t begin = 0; begin <= strings.size(); ++compared) {
            const std::size_t end = std::min(strings.find(separator, begin), strings.size());
            const std::string text = strings.substr(begin, end - begin);
            begin = end + separator.size();
            std::string line; // the last string is empty and has no line
            std::getline(lines, line);
            std::istringstream numbers(line);
            const std::vector<Token> expected{std::istream_iterator<Token>(numbers), std::istream_iterator<Token>()};
            EXPECT_EQ(text_samples::encode(*tokenizer, text), expected) << text;
            EXPECT_EQ(text_samples::encode(*copy, text), expected) << text;
            EXPECT_EQ(text_samples::decode(*tokenizer, expected), text);
        }
        EXPECT_EQ(compared, 47);
    }
}

TEST_F(Gpt2Conformance, IsLossless) {
    const auto tokenizer = tokenizer_from_json(gpt2_json(true), "gpt2");
    auto texts = text_samples::hostile_texts();
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        texts.push_back(text_samples::random_bytes(seed, 500));
        texts.push_back(text_samples::random_text(seed, 200));
    }
    for (const std::string& text : texts) {
        EXPECT_EQ(text_samples::decode(*tokenizer, text_samples::encode(*tokenizer, text)), text);
        EXPECT_EQ(text_samples::decode(*tokenizer, text_samples::encode(*tokenizer, text, true)), text);
    }
}

} // namespace
} // namespace ordo
