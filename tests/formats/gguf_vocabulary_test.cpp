// SPDX-License-Identifier: MIT
// Tokenizers from the metadata of GGUF files: small ones worked by hand, and the three vocabularies that llama.cpp's
// project publishes with 47 strings and their ids each. The latter are not part of the repository; see
// $ORDO_CONFORMANCE.
#include "core/error.h"
#include "formats/gguf/file.h"
#include "formats/gguf/vocabulary.h"
#include "formats/source.h"
#include "tests/temp_dir.h"

#include "tests/text/text_samples.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace ordo {
namespace {

using text_samples::decode;
using text_samples::encode;
using Ids = std::vector<Token>;
using Type = GgufVocabulary::Type;

std::filesystem::path conformance_file(const std::string& name) {
    const char* folder = std::getenv("ORDO_CONFORMANCE");
    return std::filesystem::path(folder != nullptr ? folder : "../shared/conformance") / "tokenizers" / name;
}

std::string read(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

GgufVocabulary vocabulary_of(const Gguf::Metadata& metadata) {
    GgufVocabulary v;
    const auto find = [&](const std::string& key) -> const GgufValue* {
        const auto at = metadata.find("tokenizer.ggml." + key);
        return at == metadata.end() ? nullptr : &at->second;
    };
    const auto text = [&](const std::string& key) { return std::string(find(key) ? find(key)->text() : ""); };
    const auto id = [&](const std::string& key) {
        return find(key) ? static_cast<Token>(find(key)->integer()) : Token{-1};
    };
    v.model = text("model");
    v.pre = text("pre");
    for (std::size_t i = 0; i < find("tokens")->size(); ++i) v.tokens.emplace_back(find("tokens")->text(i));
    if (const GgufValue* scores = find("scores"))
        for (std::size_t i = 0; i < scores->size(); ++i) v.scores.push_back(static_cast<float>(scores->number(i)));
    if (const GgufValue* types = find("token_type"))
        for (std::size_t i = 0; i < types->size(); ++i) v.types.push_back(static_cast<std::int32_t>(types->integer(i)));
    if (const GgufValue* merges = find("merges"))
        for (std::size_t i = 0; i < merges->size(); ++i) v.merges.emplace_back(merges->text(i));
    v.bos = v.model == "bert" ? id("cls_token_id") : id("bos_token_id");
    v.eos = id("eos_token_id");
    v.unknown = id("unknown_token_id");
    v.separator = id("seperator_token_id");
    return v;
}

class GgufConformance : public testing::TestWithParam<const char*> {};

TEST_P(GgufConformance, GivesThePublishedIds) {
    const std::string name = std::string("ggml-vocab-") + GetParam() + ".gguf";
    if (!std::filesystem::exists(conformance_file(name)))
        GTEST_SKIP() << "no conformance data at " << conformance_file(name) << ": set ORDO_CONFORMANCE";
    const auto tokenizer =
        tokenizer_from_gguf(vocabulary_of(Gguf::open(conformance_file(name)).metadata()), GetParam());
    const auto copy = tokenizer_from_json(tokenizer->to_json(), "copy");
    const auto back = tokenizer_from_gguf(gguf_vocabulary(*tokenizer), "back");
    const std::string strings = read(conformance_file(name + ".inp")), separator = "\n__ggml_vocab_test__\n";
    std::istringstream lines(read(conformance_file(name + ".out")));
    int compared = 0;
    for (std::size_t begin = 0; begin <= strings.size(); ++compared) {
        const std::size_t end = std::min(strings.find(separator, begin), strings.size());
        const std::string text = strings.substr(begin, end - begin);
        begin = end + separator.size();
        std::string line; // the last string is empty and has no line
        std::getline(lines, line);
        std::istringstream numbers(line);
        const Ids expected{std::istream_iterator<Token>(numbers), std::istream_iterator<Token>()};
        EXPECT_EQ(encode(*tokenizer, text), expected) << text;
        EXPECT_EQ(encode(*copy, text), expected) << text;
        EXPECT_EQ(encode(*back, text), expected) << text;
        if (tokenizer->find("[CLS]") >= 0 || text.empty()) continue; // BERT's loses case and spaces
        std::string decoded;
        for (const Token id : expected) tokenizer->append(id, decoded, id == expected.front() && decoded.empty());
        EXPECT_EQ(decoded, text);
    }
    EXPECT_EQ(compared, 47);
}

INSTANTIATE_TEST_SUITE_P(Vocabularies, GgufConformance, testing::Values("gpt-2", "llama-spm", "bert-bge"),
                         [](const auto& test) {
                             std::string name = test.param;
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

// <unk> <s> </s>, the bytes 3 to 258, then the pieces.
GgufVocabulary small_llama() {
    GgufVocabulary v;
    v.model = "llama";
    v.tokens = {"<unk>", "<s>", "</s>"};
    v.types = {Type::unknown_type, Type::control, Type::control};
    v.scores = {0, 0, 0};
    for (int byte = 0; byte < 256; ++byte) {
        char name[8];
        std::snprintf(name, sizeof name, "<0x%02X>", byte);
        v.tokens.emplace_back(name);
        v.types.push_back(Type::byte);
        v.scores.push_back(0);
    }
    const std::pair<const char*, float> pieces[] = {
        {"\u2581", -9}, {"a", -10}, {"b", -11}, {"ab", -1}, {"\u2581a", -2}, {"\u2581ab", -3},   {"aa", -4},
        {"aaa", -5},    {"<", -12}, {"s", -13}, {">", -14}, {"<s", -15},     {"\u2581<tool>", 0}};
    for (const auto& [piece, score] : pieces) {
        v.tokens.emplace_back(piece);
        v.types.push_back(Type::normal);
        v.scores.push_back(score);
    }
    v.types.back() = Type::user_defined;
    v.tokens.back() = "<tool>";
    v.unknown = 0;
    v.bos = 1;
    v.eos = 2;
    return v;
}
constexpr Token space = 259, b = 261, ab = 262, space_a = 263, space_ab = 264, aa = 265, aaa = 266, gt = 269,
                lt_s = 270, tool = 271;

TEST(GgufTokenizer, MergesTheBestScoreFirst) {
    const auto tokenizer = tokenizer_from_gguf(small_llama(), "test");
    EXPECT_EQ(encode(*tokenizer, "ab"), (Ids{space_ab}));       // _ ab (-1), then _ab
    EXPECT_EQ(encode(*tokenizer, "aaaa"), (Ids{space_a, aaa})); // _a (-2) before any aa, then aa a by its score
    EXPECT_EQ(encode(*tokenizer, "b"), (Ids{space, b}));
    EXPECT_EQ(encode(*tokenizer, "b\u00e9"), (Ids{space, b, 3 + 0xc3, 3 + 0xa9})); // bytes
    EXPECT_EQ(encode(*tokenizer, "b\xff"), (Ids{space, b, 3 + 0xff}));
    EXPECT_EQ(encode(*tokenizer, ""), Ids{});
    EXPECT_EQ(encode_framed(*tokenizer, "b", false), (Ids{1, space, b}));
    EXPECT_EQ(tokenizer->frame().before(), Ids{1});
    EXPECT_EQ(tokenizer->frame().after(), Ids{});
}

// Text never merges into a control token, and the name of a byte never becomes the byte (families T3 and T8).
TEST(GgufTokenizer, ControlTokensAreNotText) {
    const auto tokenizer = tokenizer_from_gguf(small_llama(), "test");
    EXPECT_EQ(encode(*tokenizer, "<s>"), (Ids{space, lt_s, gt}));
    EXPECT_EQ(encode(*tokenizer, "<s>", true), Ids{1});
    EXPECT_EQ(encode(*tokenizer, "b<s>b", true), (Ids{space, b, 1, space, b})); // each part begins a word
    EXPECT_EQ(encode(*tokenizer, "b<tool>"), (Ids{space, b, tool}));            // not a control token: always found
    EXPECT_TRUE(tokenizer->is_special(1) && !tokenizer->is_special(tool) && !tokenizer->is_special(b));
    EXPECT_EQ(encode(*tokenizer, "<0x61>").size(), 7u); // a space and six characters
    EXPECT_EQ(tokenizer->find("</s>"), 2);
    EXPECT_EQ(tokenizer->find("nothing"), -1);
}

TEST(GgufTokenizer, DecodesWithoutTheFirstSpace) {
    const auto tokenizer = tokenizer_from_gguf(small_llama(), "test");
    std::string text;
    tokenizer->append(space_ab, text, true);
    tokenizer->append(space_ab, text);
    tokenizer->append(3 + 0xc3, text);
    tokenizer->append(3 + 0xa9, text);
    EXPECT_EQ(text, "ab ab\u00e9");
    GgufVocabulary v = small_llama();
    v.add_space_prefix = false;
    EXPECT_EQ(encode(*tokenizer_from_gguf(v, "test"), "ab b"), (Ids{ab, space, b}));
}

TEST(GgufTokenizer, ReadsLlama2cPieces) {
    GgufVocabulary v = small_llama();
    for (std::string& token : v.tokens)
        if (const std::size_t at = token.find("\u2581"); at != token.npos) token.replace(at, 3, " ");
    v.tokens[1] = "\n<s>\n";
    v.tokens[2] = "\n</s>\n";
    const auto tokenizer = tokenizer_from_llama2c(v.tokens, v.scores, "tok.bin");
    EXPECT_EQ(encode_framed(*tokenizer, "ab aaa", false), (Ids{1, space_ab, space_a, aa}));
    EXPECT_EQ(decode(*tokenizer, {space_ab, aaa}), " abaaa");
}

// T5's tokenizer finds the split of each word with the best sum of scores.
TEST(GgufTokenizer, FindsTheBestSplit) {
    GgufVocabulary v;
    v.model = "t5";
    v.tokens = {"<pad>", "</s>", "<unk>", "\u2581", "a", "b", "\u2581a", "ab", "\u2581ab"};
    v.types = {3, 3, 2, 1, 1, 1, 1, 1, 1};
    v.scores = {0, 0, 0, -2, -3, -3, -4, -3.5F, -8};
    v.eos = 1;
    v.unknown = 2;
    v.remove_extra_whitespaces = true;
    const auto tokenizer = tokenizer_from_gguf(v, "test");
    EXPECT_EQ(encode(*tokenizer, "ab"), (Ids{3, 7}));        // -2 - 3.5 is better than -8, and than -4 - 3
    EXPECT_EQ(encode(*tokenizer, " a  b "), (Ids{6, 3, 5})); // spaces at the ends and repeated spaces merge
    EXPECT_EQ(encode(*tokenizer, "axy"), (Ids{6, 2}));       // adjacent unknown characters are one token
    EXPECT_EQ(encode(*tokenizer, "</s>").back(), 2);         // text gives no control token
    EXPECT_EQ(encode_framed(*tokenizer, "a", false), (Ids{6, 1}));
}

// Family T5: a mebibyte of one letter. An algorithm of quadratic time would not finish.
TEST(GgufTokenizer, EncodesAMebibyteOfOneLetter) {
    constexpr std::size_t n = 1 << 20;
    const std::string letters(n, 'a');
    const Ids spm = encode(*tokenizer_from_gguf(small_llama(), "test"), letters);
    Ids expected{space_a};
    expected.resize(1 + (n - 4) / 2, aa); // _a, then aa from the left, and the last three
    expected.push_back(aaa);
    EXPECT_TRUE(spm == expected);

    GgufVocabulary v;
    v.model = "t5";
    v.tokens = {"<unk>", "\u2581", "a", "aaaa"};
    v.types = {2, 1, 1, 1};
    v.scores = {0, -1, -2, -3};
    v.unknown = 0;
    Ids unigram{1};
    unigram.resize(1 + n / 4, 3);
    EXPECT_TRUE(encode(*tokenizer_from_gguf(v, "test"), letters) == unigram);
    EXPECT_EQ(encode(*tokenizer_from_gguf(v, "test"), std::string(n, 'x')), (Ids{1, 0})); // one unknown

    v = {};
    v.model = "bert";
    v.tokens = {"[UNK]", "\u2581a", "a"};
    v.types = {3, 1, 1};
    v.unknown = 0;
    const auto bert = tokenizer_from_gguf(v, "test");
    EXPECT_EQ(encode(*bert, letters), Ids{0}); // a word has at most a hundred characters
    EXPECT_EQ(encode(*bert, "Aa a"), (Ids{1, 2, 1}));
    std::string marks; // all are stripped
    while (marks.size() < n) marks += "\u0301\u0323";
    EXPECT_EQ(encode(*bert, "a" + marks), Ids{1});
}

// The words of a BERT vocabulary decide whether it lower-cases. Names such as Chinese BERT's <S> do not count.
TEST(GgufTokenizer, BertIsCasedIfItsWordsAre) {
    GgufVocabulary v;
    v.model = "bert";
    v.tokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "\u2581<S>", "\u2581<T>", "[unused1]", "\u2581hello"};
    v.unknown = 1;
    EXPECT_EQ(encode(*tokenizer_from_gguf(v, "test"), "Hello"), Ids{7});
    for (const char* word : {"\u2581Hello", "H"}) { // at the start of a word and inside one
        GgufVocabulary cased = v;
        cased.tokens.emplace_back(word);
        EXPECT_EQ(encode(*tokenizer_from_gguf(cased, "test"), "HELLO hello"), (Ids{1, 7})) << word;
    }
}

// In DeepSeek-Coder's vocabulary, an added token reads like the spelling of a byte that has no token.
TEST(GgufTokenizer, AddedTokensMayReadAsSpellingsOfOtherBytes) {
    GgufVocabulary v;
    v.model = "gpt2";
    v.pre = "gpt-2";
    v.tokens = {"a", "b", "ab", "\u00f5", "\u00c3"};
    v.types = {1, 1, 1, Type::user_defined, 1};
    v.merges = {"a b"};
    const auto tokenizer = tokenizer_from_gguf(v, "test");
    EXPECT_EQ(encode(*tokenizer, "ab\u00f5b"), (Ids{2, 3, 1}));
    EXPECT_EQ(encode(*tokenizer, "\xf5z"), Ids{}); // bytes without a token
    EXPECT_EQ(decode(*tokenizer, {2, 3}), "ab\u00f5");
    EXPECT_EQ(encode(*tokenizer_from_gguf(gguf_vocabulary(*tokenizer), "back"), "\u00f5a"), (Ids{3, 0}));
}

// In fine-tuned copies of SmolLM2, a control token is also the product of a merge.
TEST(GgufTokenizer, AddedTokensMayBeMadeByMerges) {
    GgufVocabulary v;
    v.model = "gpt2";
    v.pre = "gpt-2";
    v.tokens = {"a", "\u00ef", "\u00bf", "\u00bd", "\u00ef\u00bf", "\u00ef\u00bf\u00bd"};
    v.types = {1, 1, 1, 1, 1, Type::control};
    v.merges = {"\u00ef \u00bf", "\u00ef\u00bf \u00bd"};
    const auto tokenizer = tokenizer_from_gguf(v, "test");
    const auto back = tokenizer_from_gguf(gguf_vocabulary(*tokenizer), "back");
    for (const Tokenizer* each : {tokenizer.get(), back.get()}) {
        EXPECT_EQ(encode(*each, "a\ufffd"), (Ids{0, 5}));
        EXPECT_EQ(decode(*each, {0, 5}), "a\ufffd");
        EXPECT_TRUE(each->is_special(5));
    }
}

// A file with a vocabulary alone. Its special tokens have the ids that llama.cpp uses by default.
TEST(GgufTokenizer, IdsThatAFileLeavesOutAreLlamaCpps) {
    const test::TempDir folder;
    const auto open = [&](const std::string& model, const std::vector<std::string>& tokens,
                          const std::vector<std::int32_t>& types) {
        const std::vector<float> scores(tokens.size());
        const std::string key = "tokenizer.ggml.";
        write_gguf(folder / "v.gguf",
                   {{key + "model", GgufValue::of(model)},
                    {key + "tokens", GgufValue::of(tokens)},
                    {key + "token_type", GgufValue::of(types)},
                    {key + "scores", GgufValue::of(scores)}},
                   {});
        return open_tokenizer(folder / "v.gguf");
    };
    const auto t5 = open("t5", {"<pad>", "</s>", "<unk>", "\u2581", "a"}, {3, 3, 2, 1, 1});
    EXPECT_EQ(encode_framed(*t5, "ax", false), (Ids{3, 4, 2, 1}));
    const auto llama = open("llama", {"<unk>", "<s>", "</s>", "\u2581", "a"}, {2, 3, 3, 1, 1});
    EXPECT_EQ(encode_framed(*llama, "ax", false), (Ids{1, 3, 4, 0}));
    std::vector<std::string> words;
    for (int i = 0; i < 104; ++i) words.push_back("[unused" + std::to_string(i) + "]");
    words[100] = "[UNK]", words[101] = "[CLS]", words[102] = "[SEP]", words[103] = "\u2581a";
    EXPECT_EQ(encode_framed(*open("bert", words, std::vector<std::int32_t>(104, 1)), "a x", false),
              (Ids{101, 103, 100, 102}));
}

std::string refusal(const GgufVocabulary& v) {
    try {
        tokenizer_from_gguf(v, "m.gguf");
    } catch (const Error& error) {
        EXPECT_EQ(error.code, ErrorCode::model);
        return error.what();
    }
    return "accepted";
}

TEST(GgufTokenizer, RefusesByName) {
    GgufVocabulary v = small_llama();
    v.model = "rwkv";
    EXPECT_NE(refusal(v).find("tokenizer.ggml.model: \"rwkv\" is not supported; gpt2, llama, bert and t5 are"),
              std::string::npos);
    v.model = "gpt2";
    v.pre = "surprise";
    EXPECT_NE(refusal(v).find("tokenizer.ggml.pre: \"surprise\" is not supported; gpt-2, phi-2, "), std::string::npos);
    for (const char* wrong : {"<0xZZ>", "<0x-1>", "<0x1>", "a"}) { // G26
        v = small_llama();
        v.tokens[5] = wrong;
        v.types[5] = GgufVocabulary::byte;
        EXPECT_NE(refusal(v).find(std::string("tokenizer.ggml.tokens[5]: expected <0x00> to <0xFF>, found \"") + wrong),
                  std::string::npos)
            << refusal(v);
    }
    v = small_llama();
    v.scores.pop_back();
    EXPECT_NE(refusal(v).find("tokenizer.ggml.scores"), std::string::npos);
    v = small_llama();
    v.scores[5] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_NE(refusal(v).find("tokenizer.ggml.scores"), std::string::npos);
    v = small_llama();
    v.types[7] = 9;
    EXPECT_NE(refusal(v).find("tokenizer.ggml.token_type"), std::string::npos);
    v = small_llama();
    v.bos = 99999;
    EXPECT_NE(refusal(v).find("tokenizer.ggml.bos_token_id"), std::string::npos);
    v = small_llama();
    v.tokens[300 % v.tokens.size()] = v.tokens[260];
    EXPECT_NE(refusal(v), "accepted");
    v = small_llama();
    v.tokens[260] = "\xff";
    EXPECT_NE(refusal(v).find("expected UTF-8"), std::string::npos);
    for (const char* merge : {"ab", "ab ", ""}) { // G24; for merges of unknown tokens see tokenizer_json_test.cpp
        v = small_llama();
        v.model = "gpt2", v.pre = "gpt-2";
        v.scores.clear();
        v.merges = {merge};
        EXPECT_NE(refusal(v).find("merges[0]: "), std::string::npos) << merge << ": " << refusal(v);
    }
    v = {};
    v.model = "llama";
    EXPECT_NE(refusal(v).find("tokenizer.ggml.tokens"), std::string::npos);
}

} // namespace
} // namespace ordo
