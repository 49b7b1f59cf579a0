// SPDX-License-Identifier: MIT
// Directories whose only tokenizer is a SentencePiece file, compared with SentencePiece's own program
// (tests/text/sentence_piece/make.py).
#include "formats/source.h"
#include "formats/tokenizer_files.h"
#include "tests/formats/hugging_face_folder.h"

namespace ordo {
namespace {

using test::Json;
using test::put_file;
using Ids = std::vector<Token>;

const std::filesystem::path files = "tests/text/sentence_piece";

class SentencePieceFiles : public test::HuggingFace {
protected:
    // The tokenizer of a directory with that file under its usual name.
    std::unique_ptr<Tokenizer> tokenizer(const std::string& model, std::string_view model_type,
                                         const std::string& config = "{}") {
        for (const char* name : {"spiece.model", "tokenizer.model"}) std::filesystem::remove(folder_ / name);
        const std::filesystem::path to = folder_ / (model_type == "t5" ? "spiece.model" : "tokenizer.model");
        std::filesystem::copy_file(files / (model + ".model"), to);
        const JsonValue parsed = parse_json(config, "config");
        EXPECT_TRUE(has_sentence_piece_file(folder_.path(), parsed, model_type));
        return tokenizer_from_sentence_piece_file(folder_.path(), parsed, model_type);
    }
    // Widens the model's embedding to `vocabulary` rows by repeating its rows.
    void widen(std::int64_t vocabulary) {
        const Safetensors whole = Safetensors::open(folder_ / "model.safetensors");
        std::vector<RawTensor> tensors;
        for (const TensorInfo& info : whole.tensors()) {
            std::vector<std::byte> bytes(info.bytes);
            whole.read_raw(info, bytes);
            RawTensor to{info.name, info.dtype, info.shape, info.bytes, {}};
            if (info.name == "shared.weight" || info.name == "lm_head.weight" ||
                info.name.ends_with("embed_tokens.weight")) {
                const std::size_t row = info.bytes / static_cast<std::size_t>(info.shape[0]);
                to.shape[0] = vocabulary;
                to.bytes = row * static_cast<std::size_t>(vocabulary);
                for (std::size_t i = 0; bytes.size() < to.bytes; ++i) bytes.push_back(bytes[i]);
            }
            to.content = [bytes](const ByteSink& sink) { sink(bytes); };
            tensors.push_back(std::move(to));
        }
        write_raw_safetensors(folder_ / "model.safetensors", tensors, {});
        with("vocab_size", vocabulary);
    }
    std::string refused(const std::string& model, std::string_view model_type, const std::string& config = "{}") {
        try {
            tokenizer(model, model_type, config);
        } catch (const Error& error) {
            EXPECT_EQ(error.code, ErrorCode::model);
            EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos);
            return error.what();
        }
        return "accepted";
    }
};

Ids without_frame(const Tokenizer& tokenizer, const std::string& text) {
    Ids ids = encode_framed(tokenizer, text, false);
    const std::size_t before = tokenizer.frame().before().size(), after = tokenizer.frame().after().size();
    return {ids.begin() + static_cast<std::ptrdiff_t>(before), ids.end() - static_cast<std::ptrdiff_t>(after)};
}

TEST_F(SentencePieceFiles, GiveTheIdsOfSpmEncode) {
    std::map<std::string, std::unique_ptr<Tokenizer>> all;
    for (const auto& [model, type] : {std::pair{"llama", "llama"},
                                      {"gemma", "gemma2"},
                                      {"t5", "t5"},
                                      {"bytes", "t5"},
                                      {"spaces", "llama"},
                                      {"accents", "t5"}})
        all[model] = tokenizer(model, type);
    int cases = 0;
    for (const Json& each : Json::parse(test::file_content(files / "expected.json"))) {
        const std::string model = each.at("model"), text = each.at("text");
        EXPECT_EQ(without_frame(*all.at(model), text), each.at("ids").get<Ids>()) << model << ": " << text;
        ++cases;
    }
    EXPECT_EQ(cases, 6 * 7 + 4);
}

TEST_F(SentencePieceFiles, FramesAreThoseOfTheirClasses) {
    const auto frame = [](const Tokenizer& tokenizer) {
        return std::pair(tokenizer.frame().before(), tokenizer.frame().after());
    };
    EXPECT_EQ(frame(*tokenizer("llama", "mistral")), (std::pair<Ids, Ids>({1}, {})));
    EXPECT_EQ(frame(*tokenizer("gemma", "gemma")), (std::pair<Ids, Ids>({2}, {})));
    EXPECT_EQ(frame(*tokenizer("t5", "t5")), (std::pair<Ids, Ids>({}, {1})));
    // The configuration takes precedence.
    EXPECT_EQ(frame(*tokenizer("llama", "llama", R"({"add_bos_token": false, "add_eos_token": true})")),
              (std::pair<Ids, Ids>({}, {2})));
    EXPECT_EQ(frame(*tokenizer("llama", "phi3", R"({"bos_token": {"content": "</s>"}})")),
              (std::pair<Ids, Ids>({2}, {})));
    // A named class takes precedence over the model type.
    EXPECT_EQ(frame(*tokenizer("llama", "olmo", R"({"tokenizer_class": "LlamaTokenizerFast"})")),
              (std::pair<Ids, Ids>({1}, {})));
}

// Bytes that arrive one at a time are joined into characters.
TEST_F(SentencePieceFiles, TextComesBack) {
    for (const auto& [model, type] : {std::pair{"llama", "llama"}, {"gemma", "gemma2"}, {"bytes", "t5"}}) {
        const auto made = tokenizer(model, type);
        const std::string text = "what it lacks: \u4f60\u597d \U0001f999 two  spaces";
        std::string back;
        for (const Token id : without_frame(*made, text)) made->append(id, back, back.empty());
        EXPECT_EQ(back, std::string(model) == "bytes" ? "what it lacks: \u4f60\u597d \U0001f999 two spaces" : text)
            << model;
    }
}

TEST_F(SentencePieceFiles, TokensMayBeAddedBehindThePieces) {
    put_file(folder_ / "added_tokens.json", R"({"<b>": 401, "<a>": 400})");
    const std::string decoder = R"({"added_tokens_decoder": {"402": {"content": "<c>", "special": true}}})";
    const auto made = tokenizer("llama", "llama", decoder);
    EXPECT_EQ(made->vocab_size(), 403);
    EXPECT_EQ(made->find("<b>"), 401);
    EXPECT_FALSE(made->is_special(401));
    EXPECT_TRUE(made->is_special(402));
    EXPECT_EQ(without_frame(*made, "<a>").front(), 400);
    EXPECT_EQ(refused("llama", "llama", R"({"added_tokens_decoder": {"7": {"content": "x"}}})"),
              (folder_ / "tokenizer.model").string() +
                  ": added token 7: expected '<0x04>', as the pieces have it, found 'x'");
    EXPECT_EQ(refused("llama", "llama", R"({"added_tokens_decoder": {"404": {"content": "x"}}})"),
              (folder_ / "tokenizer.model").string() + ": added token 'x': expected the id 402, found 404");
    put_file(folder_ / "added_tokens.json", R"({"<b>": -1})");
    EXPECT_NE(refused("llama", "llama").find("added_tokens.json: '<b>': expected an id, found -1"), std::string::npos);
}

// T5's sentinels follow the pieces in descending order.
TEST_F(SentencePieceFiles, T5HasAHundredSentinels) {
    const auto made = tokenizer("t5", "t5");
    EXPECT_EQ(made->vocab_size(), 260);
    EXPECT_EQ(made->find("<extra_id_99>"), 160);
    EXPECT_EQ(made->find("<extra_id_0>"), 259);
    EXPECT_EQ(tokenizer("t5", "mt5")->vocab_size(), 160);
    EXPECT_EQ(tokenizer("t5", "mt5", R"({"extra_ids": 2})")->find("<extra_id_0>"), 161);
}

TEST_F(SentencePieceFiles, OthersAreRefused) {
    EXPECT_NE(refused("t5", "llama").find("tokenizer.model: trainer_spec.model_type: expected 2, BPE, found 1"),
              std::string::npos);
    EXPECT_NE(refused("llama", "t5").find("spiece.model: trainer_spec.model_type: expected 1, Unigram, found 2"),
              std::string::npos);
    const std::string model = test::file_content(files / "llama.model");
    put_file(folder_ / "spoiled",
             model + std::string("\x1a\x02\x20\x01", 4)); // remove_extra_whitespaces: the last one applies
    const JsonValue none = parse_json("{}", "config");
    std::filesystem::copy_file(folder_ / "spoiled", folder_ / "tokenizer.model",
                               std::filesystem::copy_options::overwrite_existing);
    try {
        tokenizer_from_sentence_piece_file(folder_.path(), none, "llama");
        FAIL() << "accepted";
    } catch (const Error& error) {
        EXPECT_NE(std::string_view(error.what()).find("found remove_extra_whitespaces 1"), std::string_view::npos);
    }
    // In these classes the ids differ from those of the pieces.
    EXPECT_FALSE(has_sentence_piece_file(folder_.path(), none, "xlm-roberta"));
    EXPECT_FALSE(has_sentence_piece_file(folder_.path(), none, "xglm"));
}

TEST_F(SentencePieceFiles, ADirectoryIsReadWithThem) {
    take("t5");
    tokenizer("t5", "t5");
    widen(264);
    EXPECT_TRUE(warnings().empty());
    EXPECT_FALSE(Model::load(folder_.path()).encode("x").empty());
    const Source source = hugging_face_source(folder_.path());
    for (int again = 0; again < 2; ++again) { // repeated calls give the same
        const TextSide side = source.text();
        EXPECT_EQ(side.special.start, 0);
        EXPECT_EQ(side.special.end, Ids({1}));
        EXPECT_EQ(encode_framed(*side.tokenizer, "x", true).back(), 1);
    }
    put_file(folder_ / "tokenizer_config.json", R"({"legacy": false})");
    ASSERT_EQ(warnings().size(), 1U);
    EXPECT_NE(warnings()[0].find("'legacy': expected true, found false"), std::string::npos);
}

// Without texts no tokenizer is needed. A tokenizer that does not fit gives a warning, and the weights load.
TEST_F(SentencePieceFiles, AModelLoadsWithoutAFileThatDoesNotFit) {
    take("t5");
    tokenizer("t5", "t5"); // 260 tokens, but 64 rows
    ASSERT_EQ(warnings().size(), 1U);
    EXPECT_NE(warnings()[0].find("tokenizer: expected at most 64 tokens, as the model has rows for, found 260; "
                                 "without text, tokens alone work"),
              std::string::npos)
        << warnings()[0];
    take("llama");
    std::filesystem::remove(folder_ / "spiece.model");
    std::filesystem::copy_file(files / "t5.model", folder_ / "tokenizer.model");
    ASSERT_EQ(warnings().size(), 1U);
    EXPECT_NE(warnings()[0].find("tokenizer.model: trainer_spec.model_type: expected 2, BPE, found 1"),
              std::string::npos)
        << warnings()[0];
    EXPECT_FALSE(hugging_face_source(folder_.path()).text);
}

// A token of added_tokens.json is special if the pieces or the configuration say so.
TEST_F(SentencePieceFiles, AListedTokenIsAsSpecialAsItsNameIs) {
    put_file(folder_ / "added_tokens.json", R"({"</s>": 2, "[PAD]": 400, "<|end|>": 401, "<x>": 402})");
    put_file(folder_ / "special_tokens_map.json", R"({"additional_special_tokens": ["<|end|>"]})");
    const auto made = tokenizer("llama", "llama", R"({"pad_token": "[PAD]"})");
    EXPECT_TRUE(made->is_special(2));
    EXPECT_TRUE(made->is_special(400));
    EXPECT_TRUE(made->is_special(401));
    EXPECT_FALSE(made->is_special(402));
}

TEST_F(SentencePieceFiles, ATokenIsListedUnderOneName) {
    put_file(folder_ / "added_tokens.json", R"({"<a>": 400})");
    EXPECT_NE(refused("llama", "llama", R"({"added_tokens_decoder": {"400": {"content": "<b>"}}})")
                  .find("added token 400: expected '<a>', as it is listed before, found '<b>'"),
              std::string::npos);
    std::filesystem::remove(folder_ / "added_tokens.json");
    // Listed tokens replace T5's own.
    const auto made = tokenizer("t5", "t5", R"({"added_tokens_decoder": {"160": {"content": "<sep>"}}})");
    EXPECT_EQ(made->find("<sep>"), 160);
    EXPECT_EQ(made->vocab_size(), 161);
    EXPECT_NE(refused("t5", "t5", R"({"extra_ids": 100000})").find("'extra_ids': expected 0 to 65536, found 100000"),
              std::string::npos);
}

} // namespace
} // namespace ordo
