// SPDX-License-Identifier: MIT
// Published tokenizers. Ten small ones (tests/text/tokenizers/NAME) always run. Their ids and texts come from Hugging
// Face's tokenizers 0.22.2 and 0.23.2. $ORDO_TOKENIZERS names a folder of full-size ones (tests/README.md).
#include "formats/source.h"
#include "tests/json.h"
#include "tests/temp_dir.h"
#include "text_samples.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace ordo {
namespace {

namespace fs = std::filesystem;
using test::Json;
using Ids = std::vector<Token>;

const fs::path fixtures = "tests/text/tokenizers";

// Decodes like the reference: drops special tokens and replaces bytes that are not UTF-8 with U+FFFD. The reference's
// decoders write one U+FFFD for a byte or for a sequence, so this function joins adjacent ones.
std::string readable(std::string_view text) {
    const std::string replaced = Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace));
    std::string out;
    for (std::size_t i = 0; i < replaced.size(); ++i) {
        out += replaced[i];
        if (out.ends_with("\ufffd\ufffd")) out.resize(out.size() - 3);
    }
    return out;
}

std::string decoded(const Tokenizer& tokenizer, const Ids& ids) {
    std::string text;
    bool first = true;
    for (const Token id : ids) {
        if (tokenizer.is_special(id)) continue;
        tokenizer.append(id, text, first);
        first = false;
    }
    return readable(text);
}

std::unique_ptr<Tokenizer> open_fixture(const std::string& name) {
    return tokenizer_from_json(test::file_content(fixtures / name / "tokenizer.json"), name);
}

class SmallTokenizer : public testing::TestWithParam<const char*> {};

TEST_P(SmallTokenizer, GivesTheReferencesIdsAndTexts) {
    const auto opened = open_fixture(GetParam());
    const auto copy = tokenizer_from_json(opened->to_json(), "copy");
    for (const Tokenizer* tokenizer : {opened.get(), copy.get()})
        for (const Json& each : Json::parse(test::file_content(fixtures / GetParam() / "expected.json"))["cases"]) {
            const std::string text = each.value("text", "");
            const Ids ids =
                each.contains("text") ? text_samples::encode(*tokenizer, text, true) : each["decode_ids"].get<Ids>();
            EXPECT_EQ(ids, each.value("ids", each.value("ids_without_frame", ids))) << each;
            EXPECT_EQ(decoded(*tokenizer, ids), each.value("decoded", decoded(*tokenizer, ids))) << each;
            const Ids framed = encode_framed(*tokenizer, text, true);
            EXPECT_EQ(framed, each.value("ids_with_frame", framed)) << each;
        }
}
INSTANTIATE_TEST_SUITE_P(, SmallTokenizer,
                         testing::Values("added-metaspace", "byte-level-words", "byte-missing",
                                         "groups-and-back-references", "repeated-keys", "repeated-members",
                                         "template-with-foreign-keys", "unigram-without-type",
                                         "word-level-without-type", "wordpiece-without-type"),
                         [](const auto& tested) {
                             std::string name = tested.param;
                             std::erase(name, '-');
                             return name;
                         });

TEST(SmallTokenizers, SayWhichKeysTheyIgnore) {
    EXPECT_EQ(open_fixture("byte-missing")->ignored(), std::vector<std::string>());
    EXPECT_EQ(open_fixture("template-with-foreign-keys")->ignored(),
              (std::vector<std::string>{"template-with-foreign-keys: post_processor: TemplateProcessing has no "
                                        "'add_prefix_space', 'trim_offsets', 'use_regex', which are ignored"}));
}

// ---- Full-size tokenizers ----------------------------------------------------------------------------
// $ORDO_TOKENIZERS/NAME/tokenizer.json with the reference's answers in expected.json (tokenizers/expect.mjs), and
// $ORDO_TOKENIZERS/NAME.gguf with NAME.gguf.inp and .out, as llama.cpp's project publishes them.

class PublishedTokenizers : public testing::Test {
protected:
    void SetUp() override {
        const char* const named = std::getenv("ORDO_TOKENIZERS");
        if (named == nullptr) GTEST_SKIP() << "set ORDO_TOKENIZERS to a folder of real tokenizers (tests/README.md)";
        for (const auto& entry : fs::directory_iterator(named)) entries_.push_back(entry.path());
        std::sort(entries_.begin(), entries_.end());
    }

    // Counts the mismatches of each tokenizer that opens, and shows the first ones.
    template <class Compare>
    void compare(const fs::path& path, const Compare& compare_texts) {
        try {
            const std::unique_ptr<const Tokenizer> tokenizer = open_tokenizer(path);
            std::size_t texts = 0, wrong = 0;
            compare_texts(*tokenizer, [&](const Json& text, const Json& expected, const Json& found) {
                ++texts;
                if (expected != found && wrong++ == 0)
                    ADD_FAILURE() << path << ": " << text << "\nexpected " << expected << "\nfound    " << found;
            });
            std::printf("%s: %zu texts, %zu mismatches\n", path.stem().c_str(), texts, wrong);
        } catch (const Error& error) {
            ADD_FAILURE() << error.what();
        }
    }

    std::vector<fs::path> entries_;
};

TEST_F(PublishedTokenizers, AgreeWithTheReference) {
    const Json strings = Json::parse(test::file_content(fixtures / "strings.json"));
    for (const fs::path& folder : entries_) {
        if (!fs::exists(folder / "expected.json")) continue;
        const Json expected = Json::parse(test::file_content(folder / "expected.json"));
        ASSERT_EQ(expected.size(), strings.size()) << folder;
        compare(folder, [&](const Tokenizer& tokenizer, const auto& on_text) {
            for (std::size_t i = 0; i < strings.size(); ++i) {
                const Ids ids = encode_framed(tokenizer, strings[i].get<std::string>(), true);
                const std::string text = readable(expected[i]["decoded"].get<std::string>());
                on_text(strings[i], {expected[i]["ids"], text},
                        {ids, decoded(tokenizer, expected[i]["ids"].template get<Ids>())});
            }
        });
    }
}

TEST_F(PublishedTokenizers, AgreeWithLlamaCpp) {
    const std::string separator = "\n__ggml_vocab_test__\n";
    for (const fs::path& file : entries_) {
        if (file.extension() != ".gguf") continue;
        const std::string strings = test::file_content(file.string() + ".inp") + separator;
        std::istringstream lines(test::file_content(file.string() + ".out"));
        compare(file, [&](const Tokenizer& tokenizer, const auto& on_text) {
            std::string line;
            for (std::size_t begin = 0; std::getline(lines, line);) {
                const std::size_t end = strings.find(separator, begin);
                if (end == strings.npos) break;
                const std::string text = strings.substr(begin, end - begin);
                begin = end + separator.size();
                std::istringstream numbers(line);
                const Ids expected{std::istream_iterator<Token>(numbers), std::istream_iterator<Token>()};
                on_text(text, expected, text_samples::encode(tokenizer, text, false));
            }
        });
    }
}

} // namespace
} // namespace ordo
