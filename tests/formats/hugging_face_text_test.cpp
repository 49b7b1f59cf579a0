// SPDX-License-Identifier: MIT
// The text side of a directory in Hugging Face's layout: the tokenizer, the tokens that end a text, and the recommended
// sampling.
#include "formats/source.h"
#include "tests/formats/hugging_face_folder.h"

namespace ordo {
namespace {

using test::Json;
using test::put_file;
using HuggingFace = test::HuggingFace;

TEST_F(HuggingFace, SpecialTokensComeFromTheFiles) {
    take("llama");
    put_tokenizer();
    Model model = Model::load(folder_.path());
    EXPECT_EQ(model.start_of_text(), -1); // neither the tokenizer nor add_bos_token asks for one
    EXPECT_EQ(model.end_of_text(), 2);    // config.json
    EXPECT_EQ(model.encode("AB"), (std::vector<Token>{4, 5}));

    put_file(folder_ / "tokenizer_config.json", R"({"add_bos_token": true, "pad_token": {"content": "<pad>"}})");
    put_file(folder_ / "generation_config.json",
             R"({"eos_token_id": [3, 2, 900], "bos_token_id": 1, "do_sample": true, "temperature": 0.6, "top_k": 20})");
    model = Model::load(folder_.path());
    EXPECT_EQ(model.start_of_text(), 1);
    EXPECT_EQ(special_tokens_of(model).end, (std::vector<Token>{3, 2})); // this model has no token 900
    EXPECT_EQ(special_tokens_of(model).padding, 3);
    EXPECT_FLOAT_EQ(model.sampling().temperature, 0.6f);
    EXPECT_EQ(model.sampling().top_k, 20);
    EXPECT_FLOAT_EQ(model.sampling().min_p, 0);
    EXPECT_EQ(model.decode(std::vector<Token>{4, 63}), "A"); // 63 is a filler of the vocabulary
}

TEST_F(HuggingFace, WhatSamplingDoesNotDoIsSaid) {
    take("llama");
    put_tokenizer();
    put_file(folder_ / "generation_config.json",
             R"({"num_beams": 1, "no_repeat_ngram_size": 0, "bad_words_ids": [], "forced_bos_token_id": null})");
    EXPECT_TRUE(warnings().empty());
    put_file(folder_ / "generation_config.json",
             R"({"num_beams": 4, "no_repeat_ngram_size": 3, "bad_words_ids": [[5]], "forced_eos_token_id": 0})");
    ASSERT_EQ(warnings().size(), 1U);
    const std::string found = warnings().front();
    EXPECT_TRUE(found.ends_with("not applied: num_beams, no_repeat_ngram_size, forced_eos_token_id, bad_words_ids"))
        << found;
}

// The defaults of transformers' GenerationConfig: temperature 1, top_k 50, top_p 1, no min_p and no penalty.
TEST_F(HuggingFace, AFileThatNamesASamplingValueGivesAllOfThem) {
    take("llama");
    put_tokenizer();
    const auto sampling = [&](const char* file) {
        put_file(folder_ / "generation_config.json", file);
        EXPECT_TRUE(warnings().empty()) << file;
        return Model::load(folder_.path()).sampling();
    };
    const auto expect = [](const Sampling& found, float temperature, int top_k, float top_p, float min_p,
                           float penalty) {
        EXPECT_FLOAT_EQ(found.temperature, temperature);
        EXPECT_EQ(found.top_k, top_k);
        EXPECT_FLOAT_EQ(found.top_p, top_p);
        EXPECT_FLOAT_EQ(found.min_p, min_p);
        EXPECT_FLOAT_EQ(found.repeat_penalty, penalty);
    };
    expect(sampling(R"({"do_sample": true, "temperature": 0.6})"), 0.6f, 50, 1, 0, 1);
    expect(sampling(R"({"do_sample": true, "top_p": 0.9, "repetition_penalty": 1.1})"), 1, 50, 0.9f, 0, 1.1f);
    expect(sampling(R"({"do_sample": true, "temperature": null, "top_k": null, "top_p": null})"), 1, 0, 1, 0, 1);
    expect(sampling(R"({"do_sample": false, "temperature": 0.6})"), 0, 50, 1, 0, 1);
    const Sampling ours;
    for (const char* nothing :
         {"{}", R"({"do_sample": true})", R"({"do_sample": false})", R"({"temperature": 0.6, "top_k": 20})",
          R"({"do_sample": null, "temperature": 0.6})", R"({"eos_token_id": 2})"})
        expect(sampling(nothing), ours.temperature, ours.top_k, ours.top_p, ours.min_p, ours.repeat_penalty);
}

TEST_F(HuggingFace, ASamplingValueThatCannotBeUsedIsAWarning) {
    take("llama");
    put_tokenizer();
    const auto sampling = [&](const std::string& file, const std::string& phrase) {
        put_file(folder_ / "generation_config.json", file);
        const std::vector<std::string> said = warnings();
        EXPECT_EQ(said.size(), 1U) << file;
        EXPECT_TRUE(!said.empty() && said[0].find("generation_config.json: ") != std::string::npos &&
                    said[0].find(phrase) != std::string::npos)
            << file << ": " << (said.empty() ? "nothing" : said[0]);
        return Model::load(folder_.path()).sampling();
    };
    EXPECT_EQ(sampling(R"({"do_sample": true, "top_k": -1})", "'top_k': expected a whole number from 0").top_k, 0);
    EXPECT_EQ(sampling(R"({"do_sample": true, "top_p": 0.0})", "'top_p': expected a number").top_p, 1);
    EXPECT_EQ(sampling(R"({"do_sample": true, "top_k": 30.0})", "'top_k': expected a whole number").top_k, 30);
    EXPECT_EQ(sampling(R"({"do_sample": true, "top_k": 3.5})", "; not applied").top_k, 0);
    EXPECT_EQ(sampling(R"({"do_sample": true, "temperature": "hot"})", "'temperature': expected").temperature, 1);
    EXPECT_EQ(sampling("", "not read: ").top_k, Sampling().top_k);
    EXPECT_EQ(sampling("[]", "not read: ").top_k, Sampling().top_k);
    EXPECT_EQ(sampling("{\"top_k\": Infinity}", "found Infinity").top_k, Sampling().top_k);
}

// The spelling of a byte in GPT-2's files: printable bytes stay as they are, and the others follow in order from U+0100
// on.
std::string spelling(int byte) {
    const auto prints = [](int b) { return (b >= 33 && b <= 126) || (b >= 161 && b != 173); };
    int code = byte;
    if (!prints(byte)) {
        code = 256;
        for (int b = 0; b < byte; ++b) code += prints(b) ? 0 : 1;
    }
    if (code < 128) return std::string(1, static_cast<char>(code));
    return {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 63))};
}

// GPT-2's own two files. The ids are worked by hand: "ab" merges before " a".
TEST_F(HuggingFace, AVocabularyAndMergesInFilesOfTheirOwnMakeATokenizer) {
    take("gpt2");
    Json vocab = {{"<|endoftext|>", 0}, {"<pad>", 1}, {"ab", 2}, {"\u0120a", 3}};
    for (int byte = 0; byte < 256; ++byte) vocab[spelling(byte)] = 4 + byte;
    put_file(folder_ / "vocab.json", vocab.dump());
    put_file(folder_ / "merges.txt", "#version: 0.2\na b\n\u0120 a\n");
    with("eos_token_id", 0);
    with("bos_token_id", 0);
    const auto text = [&] { return hugging_face_source(folder_.path()).text(); };
    const auto ids = [](const TextSide& side, std::string_view in) {
        std::vector<Token> all;
        side.tokenizer->encode(in, true, all);
        return all;
    };
    TextSide side = text();
    EXPECT_EQ(ids(side, "ab ac ab<|endoftext|>"), (std::vector<Token>{2, 3, 4 + 'c', 4 + ' ', 2, 0}));
    EXPECT_EQ(side.special.start, -1);
    EXPECT_EQ(side.special.end, std::vector<Token>{0});

    put_file(folder_ / "tokenizer_config.json", // as in OPT's directories
             R"({"tokenizer_class": "GPT2Tokenizer", "add_bos_token": true, "pad_token": {"content": "<pad>"}})");
    side = text();
    EXPECT_EQ(side.special.start, 0);
    EXPECT_EQ(ids(side, "<pad>a"), (std::vector<Token>{1, 4 + 'a'}));

    vocab.erase("z"); // a byte missing from the training text
    put_file(folder_ / "vocab.json", vocab.dump());
    EXPECT_EQ(ids(text(), "azb"), std::vector<Token>{2});

    put_file(folder_ / "merges.txt", "#version: 0.2\na b c\n");
    EXPECT_THROW(text(), Error);
    expect_refused("vocab.json and merges.txt: model.merges[0]: expected two tokens");
    put_file(folder_ / "merges.txt", "a b\n");
    put_file(folder_ / "vocab.json", "[]");
    expect_refused("vocab.json: expected a JSON object, found an array");
    // For another class the pre-tokenization is unknown.
    put_file(folder_ / "tokenizer_config.json", R"({"tokenizer_class": "CTRLTokenizer"})");
    ASSERT_EQ(warnings().size(), 1U);
    EXPECT_NE(warnings().front().find("no tokenizer.json but vocab.json, merges.txt"), std::string::npos);
    put_file(folder_ / "tokenizer.model", "x");
    EXPECT_NE(warnings().front().find("merges.txt, tokenizer.model"), std::string::npos);
}

// Marian's files without target.spm, which splits texts of the other language. The ids are spm_encode's
// (tests/text/marian/make.py).
TEST_F(HuggingFace, MarianIsReadFromTheFilesOfItsTwoLanguages) {
    take("marian");
    const std::filesystem::path files = "tests/text/marian";
    for (const char* name : {"source.spm", "vocab.json"}) std::filesystem::copy_file(files / name, folder_ / name);
    const TextSide side = hugging_face_source(folder_.path()).text();
    int cases = 0;
    for (const Json& each : Json::parse(test::file_content(files / "expected.json"))) {
        const std::string text = each.at("text");
        EXPECT_EQ(encode_framed(*side.tokenizer, text, true), each.at("ids").get<std::vector<Token>>()) << text;
        ++cases;
    }
    EXPECT_EQ(cases, 9);
    EXPECT_EQ(side.special.start, 63); // decoder_start_token_id
    const Json vocab = Json::parse(test::file_content(files / "vocab.json"));
    std::string text;
    for (const char* spelling : {"\u2581", "\u0434", "\u0430", "\u2581the", "."})
        side.tokenizer->append(vocab.at(spelling).get<Token>(), text, text.empty());
    EXPECT_EQ(text, "\u0434\u0430 the.");
    const auto copy = tokenizer_from_json(side.tokenizer->to_json(), "copy"); // as convert stores it
    EXPECT_EQ(encode_framed(*copy, "so \u0434 and", true), encode_framed(*side.tokenizer, "so \u0434 and", true));
}

TEST_F(HuggingFace, SpoiledFilesOfMarianAreRefused) {
    take("marian");
    const std::filesystem::path files = "tests/text/marian";
    for (const char* name : {"source.spm", "vocab.json"}) std::filesystem::copy_file(files / name, folder_ / name);
    const auto refused = [&](const char* name, const std::string& content, const std::string& phrase) {
        SCOPED_TRACE(phrase);
        put_file(folder_ / name, content);
        expect_refused(phrase);
        std::filesystem::copy_file(files / name, folder_ / name, std::filesystem::copy_options::overwrite_existing);
    };
    const std::string model = test::file_content(files / "source.spm");
    refused("source.spm", "", "source.spm: expected a SentencePiece model");
    refused("source.spm", model.substr(0, model.size() / 2), "the end of the message");
    refused("source.spm", model + "\x12\x02\x18\x02",
            "model_type: expected 1, Unigram, found 2"); // the last one applies
    refused("source.spm", model + std::string("\x1a\x02\x28\0", 4), "escape_whitespaces 0");
    refused("source.spm", model + "\x12\x03\x98\x02\x01", "source.spm: trainer_spec.byte_fallback: expected 0");
    refused("vocab.json", "[]", "vocab.json: expected a JSON object, found an array");
    refused("vocab.json", R"({"</s>": 0, "<unk>": 0})", "expected an id of its own from 0 to 1");
    refused("vocab.json", R"({"</s>": 0, "<unk>": 2})", "expected an id of its own from 0 to 1");
    refused("vocab.json", R"({"</s>": 0, "<unk>": "1"})", "expected an id of its own from 0 to 1");
    refused("vocab.json", R"({"</s>": 0, "<unk>": 1})", "'<pad>': expected an id, found none");
    refused("vocab.json", "{}", "'<unk>': expected an id, found none");
}

} // namespace
} // namespace ordo
