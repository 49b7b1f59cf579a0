// SPDX-License-Identifier: MIT
// tokenizer.json: Ordo reads the files that it writes, and refuses unsupported contents by name (families T1 and T3 of
// hostile inputs).
#include "core/error.h"
#include "tests/json.h"
#include "text/bpe_trainer.h"
#include "text/tokenizer.h"

#include "tests/expect_error.h"
#include "text_samples.h"

#include <gtest/gtest.h>

#include <functional>

namespace ordo {
namespace {

using test::Json;

using text_samples::encode;

// Bytes, and ids 256..260: ab, abc, bc, <|endoftext|> and, added, <pad>.
Json sample() {
    Json root = Json::parse(make_byte_tokenizer()->to_json());
    Json& model = root["model"];
    model["vocab"]["ab"] = 256;
    model["vocab"]["abc"] = 257;
    model["vocab"]["bc"] = 258;
    model["vocab"]["<|endoftext|>"] = 259;
    model["merges"] = {"a b", "ab c", "b c"};
    root["added_tokens"][0]["id"] = 259;
    Json pad = root["added_tokens"][0];
    pad["id"] = 260;
    pad["content"] = "<pad>";
    root["added_tokens"].push_back(pad);
    return root;
}

std::string refusal(const std::string& json) {
    try {
        tokenizer_from_json(json, "tok.json");
    } catch (const Error& error) {
        EXPECT_EQ(error.code, ErrorCode::model);
        const std::string what = error.what();
        EXPECT_TRUE(what.starts_with("tok.json")) << what;
        EXPECT_EQ(what.find('\n'), std::string::npos) << what;
        EXPECT_LT(what.size(), 400u);
        return what;
    }
    return "accepted";
}

TEST(TokenizerJson, ReadsAVocabulary) {
    const auto tokenizer = tokenizer_from_json(sample().dump(), "tok.json");
    EXPECT_EQ(tokenizer->vocab_size(), 261);
    EXPECT_EQ(tokenizer->end_of_text(), 259);
    EXPECT_EQ(encode(*tokenizer, "abc"), (std::vector<Token>{257}));
    EXPECT_EQ(encode(*tokenizer, "bcab"), (std::vector<Token>{258, 256})); // "b c" ranks after "a b"
    EXPECT_EQ(encode(*tokenizer, "a<pad>b", true), (std::vector<Token>{'a', 260, 'b'}));
    EXPECT_EQ(text_samples::decode(*tokenizer, {260, 257}), "<pad>abc");
}

TEST(TokenizerJson, TellsGpt2sFormsApartFromOthers) {
    Json root = sample();
    root["model"]["merges"] = Json::array({Json{"a", "b"}, Json{"ab", "c"}, "b c"}); // both ways of writing a merge
    root["model"].erase("type");                                                     // as in the first files
    for (const char* key : {"byte_fallback", "ignore_merges", "fuse_unk", "unk_token", "dropout"})
        root["model"].erase(key);
    root["model"]["continuing_subword_prefix"] = "";
    root["model"]["end_of_word_suffix"] = "";
    root["pre_tokenizer"].erase("use_regex");
    root["post_processor"] = {{"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", false}};
    const auto tokenizer = tokenizer_from_json(root.dump(), "tok.json");
    EXPECT_EQ(encode(*tokenizer, "abc"), (std::vector<Token>{257}));
    root.erase("added_tokens");
    EXPECT_EQ(tokenizer_from_json(root.dump(), "tok.json")->end_of_text(), -1); // no token is marked as the end
}

// Foreign keys of a component are ignored with a warning that names them, even keys that another component uses for its
// vocabulary.
TEST(TokenizerJson, IgnoresForeignKeys) {
    Json root = sample();
    root["decoder"]["vocab"] = {{"a", "not an id"}};
    root["merges"] = {7};
    root["pre_tokenizer"]["pattern"] = "(a+)+$";
    root["model"]["scores"] = Json::array();
    root["added_tokens"][1]["colour"] = "red";
    root["normalizer"] = {{"type", "Sequence"}, {"normalizers", {{{"type", "NFC"}, {"lowercase", true}}}}};
    root["post_processor"] = root["decoder"];
    for (const char* key : {"a", "b", "c", "d", "e"}) root["post_processor"][key] = 1;
    const auto tokenizer = tokenizer_from_json(root.dump(), "t");
    EXPECT_EQ(encode(*tokenizer, "ABC abc"), (std::vector<Token>{'A', 'B', 'C', ' ', 257}));
    EXPECT_EQ(
        tokenizer->ignored(),
        (std::vector<std::string>{
            "t: tokenizer.json has no 'merges', which is ignored",
            "t: normalizer: NFC has no 'lowercase', which is ignored",
            "t: pre_tokenizer: ByteLevel has no 'pattern', which is ignored",
            "t: post_processor: ByteLevel has no 'a', 'b', 'c', 'd' and 2 more, which are ignored",
            "t: decoder: ByteLevel has no 'vocab', which is ignored", "t: model: BPE has no 'scores', which is ignored",
            "t: added_tokens: a token has no 'colour', which is ignored"}));
}

// Ids without a token, such as gpt-4o's 200002 to 200017, count for the size and decode to nothing.
TEST(TokenizerJson, VocabulariesMayHaveGaps) {
    Json root = sample();
    root["model"]["vocab"]["abc"] = 300;
    root["added_tokens"][1]["id"] = 400;
    const auto tokenizer = tokenizer_from_json(root.dump(), "tok.json");
    const auto copy = tokenizer_from_json(tokenizer->to_json(), "copy");
    for (const Tokenizer* each : {tokenizer.get(), copy.get()}) {
        EXPECT_EQ(each->vocab_size(), 401);
        EXPECT_EQ(encode(*each, "abc<pad>", true), (std::vector<Token>{300, 400}));
        EXPECT_EQ(text_samples::decode(*each, {257, 300, 350, 400}), "abc<pad>");
    }
    root["decoder"] = nullptr; // a space between tokens, but none for an id without a token
    EXPECT_EQ(text_samples::decode(*tokenizer_from_json(root.dump(), "tok.json"), {'a', 257, 350}), " a");
}

// A model without a type gets the type that its members imply.
TEST(TokenizerJson, NamesTheTypeThatAFileLeavesOut) {
    Json root = sample();
    root["model"].erase("type");
    EXPECT_EQ(Json::parse(tokenizer_from_json(root.dump(), "tok.json")->to_json())["model"]["type"], "BPE");
    for (const char* key : {"merges", "continuing_subword_prefix", "unk_token"}) root["model"].erase(key);
    EXPECT_NE(refusal(root.dump()).find("type: expected BPE, Unigram, WordLevel or WordPiece, found none"),
              std::string::npos);
}

// A byte that the vocabulary lacks becomes the unknown token. If there is none, the byte is dropped and its neighbours
// may merge. The ids are those of Hugging Face's tokenizers 0.23.2.
TEST(TokenizerJson, BytesWithoutATokenAreUnknownOrNothing) {
    Json root = sample();
    root["added_tokens"] = Json::array();
    root["model"]["vocab"] = {{"<unk>", 0}, {"a", 1}, {"b", 2}, {"ab", 3}};
    root["model"]["merges"] = {"a b"};
    const auto ids = [&](const Json& unknown, bool fuse, const char* text) {
        root["model"]["unk_token"] = unknown;
        root["model"]["fuse_unk"] = fuse;
        return encode(*tokenizer_from_json(root.dump(), "tok.json"), text);
    };
    for (const bool fuse : {false, true})
        for (const char* text : {"azb", "azzb", "xyab"}) EXPECT_EQ(ids(nullptr, fuse, text), std::vector<Token>{3});
    EXPECT_EQ(ids("<unk>", false, "azzb"), (std::vector<Token>{1, 0, 0, 2}));
    EXPECT_EQ(ids("<unk>", true, "azzb"), (std::vector<Token>{1, 0, 2}));
    EXPECT_EQ(ids("<unk>", false, "xyab"), (std::vector<Token>{0, 0, 3}));
    EXPECT_EQ(ids("<unk>", true, "xyab"), (std::vector<Token>{0, 3}));
}

// Pieces of characters that spell bytes take prefixes and suffixes like other pieces.
TEST(TokenizerJson, ByteLevelPiecesMayHaveAffixes) {
    Json root = sample();
    root["model"]["continuing_subword_prefix"] = "##";
    root["model"]["end_of_word_suffix"] = "</w>";
    root["model"]["vocab"]["##b</w>"] = 261;
    root["model"]["merges"] = Json::array();
    EXPECT_EQ(encode(*tokenizer_from_json(root.dump(), "tok.json"), "ab"), (std::vector<Token>{'a', 261}));
}

TEST(TokenizerJson, RoundTrips) {
    const std::string corpus = text_samples::random_text(1, 2000);
    const std::unique_ptr<Tokenizer> tokenizers[] = {make_byte_tokenizer(), train_bpe(corpus, 600),
                                                     tokenizer_from_json(sample().dump(), "tok.json")};
    for (const auto& tokenizer : tokenizers) {
        const std::string json = tokenizer->to_json();
        const auto copy = tokenizer_from_json(json, "copy");
        EXPECT_EQ(copy->to_json(), json);
        ASSERT_EQ(copy->vocab_size(), tokenizer->vocab_size());
        EXPECT_EQ(copy->end_of_text(), tokenizer->end_of_text());
        for (Token id = 0; id < copy->vocab_size(); ++id)
            EXPECT_EQ(text_samples::decode(*copy, {id}), text_samples::decode(*tokenizer, {id}));
        for (std::uint64_t seed = 0; seed < 20; ++seed)
            for (const std::string& text :
                 {text_samples::random_text(seed, 100), text_samples::random_bytes(seed, 100)})
                EXPECT_EQ(encode(*copy, text, true), encode(*tokenizer, text, true));
    }
}

// An added token keeps its own bytes even if GPT-2's alphabet cannot spell them.
TEST(TokenizerJson, AddedTokensMayHoldAnyText) {
    Json root = sample();
    root["added_tokens"][1]["content"] = "\u4f60 \"\\\n\u00e9";
    root["added_tokens"][1]["special"] = false;
    root["added_tokens"][1]["normalized"] = true;
    const auto tokenizer = tokenizer_from_json(root.dump(), "tok.json");
    const auto copy = tokenizer_from_json(tokenizer->to_json(), "copy");
    for (const bool special : {false, true})
        EXPECT_EQ(encode(*copy, "a\u4f60 \"\\\n\u00e9", special), (std::vector<Token>{'a', 260}));
    EXPECT_EQ(text_samples::decode(*copy, {260}), "\u4f60 \"\\\n\u00e9");
    EXPECT_EQ(copy->to_json(), tokenizer->to_json());
}

// Fine-tuned copies of SmolLM2 add the vocabulary's spelling of U+FFFD as a special token. Bytes still become it, and
// it becomes bytes, as in Hugging Face's tokenizers 0.23.2.
TEST(TokenizerJson, AddedTokensMaySpellOtherBytes) {
    Json root = sample();
    Json& model = root["model"];
    model["vocab"]["\u00ef\u00bf"] = 261;
    model["vocab"]["\u00ef\u00bf\u00bd"] = 262;
    model["merges"].insert(model["merges"].end(), {"\u00ef \u00bf", "\u00ef\u00bf \u00bd"});
    Json token = root["added_tokens"][0];
    token["content"] = "\u00ef\u00bf\u00bd";
    token["id"] = 262;
    root["added_tokens"].push_back(token);
    const auto tokenizer = tokenizer_from_json(root.dump(), "tok.json");
    const auto copy = tokenizer_from_json(tokenizer->to_json(), "copy");
    for (const Tokenizer* each : {tokenizer.get(), copy.get()}) {
        EXPECT_EQ(encode(*each, "a\ufffd"), (std::vector<Token>{'a', 262}));
        EXPECT_EQ(encode(*each, "a\u00ef\u00bf\u00bd", true), (std::vector<Token>{'a', 262}));
        EXPECT_EQ(text_samples::decode(*each, {'a', 262}), "a\ufffd");
        EXPECT_TRUE(each->is_special(262));
    }
}

struct Case {
    std::function<void(Json&)> spoil;
    const char* phrase; // of the refusal
};

void expect_refusals(const std::vector<Case>& cases) {
    for (const Case& c : cases) {
        Json root = sample();
        c.spoil(root);
        const std::string what = refusal(root.dump());
        EXPECT_NE(what.find(c.phrase), std::string::npos) << "expected: " << c.phrase << "\nfound: " << what;
    }
}

TEST(TokenizerJson, RefusesComponentsByName) {
    const Json unknown = {{"type", "Surprise"}};
    const auto sequence = [&](const char* key) { return Json{{"type", "Sequence"}, {key, Json::array({unknown})}}; };
    expect_refusals({
        {[](Json& r) { r["version"] = "2.0"; }, "version: expected 1.0, found 2.0"},
        {[](Json& r) { r.erase("version"); }, "version"},
        {[](Json& r) { r["truncation"] = 512; }, "truncation"},
        {[](Json& r) { r["padding"] = "Fixed"; }, "padding"},
        {[&](Json& r) { r["normalizer"] = unknown; }, "normalizer: \"Surprise\" is not supported; BertNormalizer, "},
        {[&](Json& r) { r["pre_tokenizer"] = unknown; }, "pre_tokenizer: \"Surprise\" is not supported; ByteLevel, "},
        {[&](Json& r) { r["post_processor"] = unknown; },
         "post_processor: \"Surprise\" is not supported; BertProcessing, "},
        {[&](Json& r) { r["decoder"] = unknown; }, "decoder: \"Surprise\" is not supported; ByteFallback, "},
        {[&](Json& r) { r["model"]["type"] = "Surprise"; },
         "model: type: \"Surprise\" is not supported; BPE, Unigram, WordLevel and WordPiece are"},
        {[&](Json& r) { r["normalizer"] = sequence("normalizers"); }, "normalizer.normalizers[0]: \"Surprise\""},
        {[&](Json& r) { r["pre_tokenizer"] = sequence("pretokenizers"); }, "pretokenizers[0]: \"Surprise\""},
        {[&](Json& r) { r["post_processor"] = sequence("processors"); }, "processors[0]: \"Surprise\""},
        {[&](Json& r) { r["decoder"] = sequence("decoders"); }, "decoders[0]: \"Surprise\""},
        {[](Json& r) {
             r["decoder"] = {{"type", "BPEDecoder"}};
         },
         "decoder: \"BPEDecoder\" is not supported"},
        {[](Json& r) {
             r["decoder"] = {{"type", "CTC"}};
         },
         "decoder: \"CTC\" is not supported"},
        {[](Json& r) { r["post_processor"] = 7; }, "post_processor: expected an object, found 7"},
        {[](Json& r) { r["model"]["type"] = "Unigram"; }, "'vocab': expected an array"},
        {[](Json& r) { r["model"]["dropout"] = 0.1; }, "dropout"},
    });
}

TEST(TokenizerJson, RefusesBrokenVocabularies) {
    expect_refusals({
        {[](Json& r) { r.erase("model"); }, "model"},
        {[](Json& r) { r["model"] = Json::array(); }, "model"},
        {[](Json& r) { r["model"].erase("vocab"); }, "vocab"},
        {[](Json& r) { r["model"]["vocab"] = Json::array(); }, "vocab"},
        {[](Json& r) {
             r["model"]["vocab"] = Json::object();
             r["added_tokens"] = Json::array();
         },
         "model.vocab: expected tokens, found none"},
        {[](Json& r) { r["model"]["vocab"]["ab"] = -1; }, "-1"},
        {[](Json& r) { r["model"]["vocab"]["ab"] = 255; }, "id 255: expected one token"}, // duplicated
        {[](Json& r) { r["model"]["vocab"]["ab"] = 70'000; }, "70000"},                   // far from the others
        {[](Json& r) { r["model"]["vocab"]["ab"] = std::int64_t{1} << 40; }, "1099511627776"},
        {[](Json& r) { r["model"]["vocab"]["ab"] = 256.5; }, "ab"},
        {[](Json& r) { r["model"]["vocab"]["ab"] = "256"; }, "ab"},
        {[](Json& r) { r["model"]["vocab"]["ab"] = nullptr; }, "ab"},
        {[](Json& r) { r["model"]["vocab"]["ab"] = Json::array({256}); }, "'ab': expected an integer"},
        {[](Json& r) { r["model"]["vocab"]["ab"] = r["model"]["vocab"]; }, "'ab': expected an integer"},
        {[](Json& r) { r["model"] = Json::array({r["model"]}); }, "'model': expected an object, found an array"},
        {[](Json& r) {
             r["model"]["vocab"].erase("bc");
             r["model"]["vocab"][""] = 258;
             r["model"]["merges"].erase(2);
         },
         "empty"},
    });
}

TEST(TokenizerJson, RefusesAPieceTwiceInAListOfScores) {
    Json root = sample();
    root["model"] = {
        {"type", "Unigram"},
        {"unk_id", 0},
        {"vocab", Json::array({Json::array({"a", 0.0}), Json::array({"b", -1.0}), Json::array({"a", -2.0})})}};
    root["pre_tokenizer"] = root["decoder"] = root["post_processor"] = nullptr;
    root["added_tokens"] = Json::array();
    EXPECT_NE(refusal(root.dump()).find("key 'a' appears twice"), std::string::npos) << refusal(root.dump());
}

// Hugging Face's tokenizers 0.23.2: "WordLevel error: Missing [UNK] token from the vocabulary", for the text alone.
TEST(TokenizerJson, AWordLevelWithoutAnUnknownTokenEncodesItsWords) {
    Json root = sample();
    root["model"] = {{"type", "WordLevel"}, {"unk_token", "<unk>"}, {"vocab", {{"the", 0}, {"cat", 1}}}};
    root["pre_tokenizer"] = {{"type", "Whitespace"}};
    root["decoder"] = root["post_processor"] = nullptr;
    root["added_tokens"] = Json::array();
    const auto tokenizer = tokenizer_from_json(root.dump(), "tok.json");
    EXPECT_EQ(encode(*tokenizer, "cat the"), (std::vector<Token>{1, 0}));
    expect_error(ErrorCode::model,
                 "tok.json: model: 'dog': expected a word of the vocabulary, or its unk_token there, found neither",
                 [&] { encode(*tokenizer, "the dog"); });
}

TEST(TokenizerJson, RefusesBrokenMerges) {
    expect_refusals({
        {[](Json& r) { r["model"].erase("merges"); }, "merges"},
        {[](Json& r) { r["model"]["merges"] = Json::object(); }, "merges"},
        {[](Json& r) { r["model"]["merges"][0] = "a xx"; }, "merges[0]: \"xx\" is not in the vocabulary"},
        {[](Json& r) { r["model"]["merges"][0] = "xx a"; }, "merges[0]: \"xx\" is not in the vocabulary"},
        {[](Json& r) { r["model"]["merges"][2] = "c b"; }, "merges[2]: \"cb\" is not in the vocabulary"},
        // A merge spells out its product, so a cycle would need a token longer than itself.
        {[](Json& r) { r["model"]["merges"][1] = "ab ab"; }, "\"abab\" is not in the vocabulary"},
        {[](Json& r) { r["model"]["merges"][1] = "a b"; }, "merges[1]: repeats merge 0"},
        {[](Json& r) { r["model"]["merges"][0] = "ab"; }, "merges[0]: expected two tokens"},
        {[](Json& r) { r["model"]["merges"][0] = "a b c"; }, "merges[0]: expected two tokens"},
        {[](Json& r) { r["model"]["merges"][0] = " ab"; }, "merges[0]"},
        {[](Json& r) { r["model"]["merges"][0] = ""; }, "merges[0]: expected two tokens"},
        {[](Json& r) {
             r["model"]["merges"][0] = Json{"a", "b", "c"};
         },
         "merges[0]: expected two tokens"},
        {[](Json& r) {
             r["model"]["merges"][0] = Json{"a", 7};
         },
         "merges[0]: expected two tokens"},
        {[](Json& r) { r["model"]["merges"][0] = 7; }, "merges[0]: expected two tokens, found 7"},
        {[](Json& r) { r["model"]["merges"][2] = Json::array({"b"}); }, "merges[2]: expected two tokens"},
        {[](Json& r) { r["model"]["merges"][2] = Json::array(); }, "merges[2]: expected two tokens, found an array"},
        {[](Json& r) {
             r["model"]["merges"][1] = Json::array({"ab", Json::array({"c"})});
         },
         "merges[1]: expected two"},
        {[](Json& r) { r["model"]["merges"][1] = Json::object(); }, "merges[1]: expected two tokens, found an object"},
    });
}

// A file of ten million merges is refused before its table is built.
TEST(TokenizerJson, RefusesTenMillionMerges) {
    std::string json = sample().dump();
    std::string merges;
    for (int i = 0; i < 10'000'000; ++i) merges += "\"\",";
    json.insert(json.find("\"merges\":[") + 10, merges);
    EXPECT_NE(refusal(json), "accepted");
}

TEST(TokenizerJson, RefusesBrokenAddedTokens) {
    expect_refusals({
        {[](Json& r) { r["added_tokens"] = Json::object(); }, "added_tokens"},
        {[](Json& r) { r["added_tokens"][1] = "<pad>"; }, "added_tokens[1]"},
        {[](Json& r) { r["added_tokens"][1]["content"] = ""; }, "added_tokens[1]: content: expected 1 to 256"},
        {[](Json& r) { r["added_tokens"][1]["content"] = std::string(1 << 20, 'x'); }, "found 1048576"},
        {[](Json& r) { r["added_tokens"][1].erase("content"); }, "content"},
        {[](Json& r) { r["added_tokens"][1]["id"] = -1; }, "-1"},
        {[](Json& r) { r["added_tokens"][1]["id"] = 5; }, "id 5 is that of"},
        {[](Json& r) { r["added_tokens"][1]["id"] = 70'000; }, "found 70000"},
        {[](Json& r) { r["added_tokens"][0]["id"] = 260; }, "expected id 259, found 260"},
        {[](Json& r) { r["added_tokens"][1]["lstrip"] = 1; }, "lstrip"},
        {[](Json& r) { r["added_tokens"][1]["rstrip"] = 1; }, "rstrip"},
        {[](Json& r) { r["added_tokens"][1]["single_word"] = 1; }, "single_word"},
        {[](Json& r) { r["added_tokens"][1]["special"] = 1; }, "special"},
        {[](Json& r) { r["added_tokens"][1].erase("normalized"); }, "normalized"},
        {[](Json& r) { r["added_tokens"][1] = r["added_tokens"][0]; }, "added twice"},
        {[](Json& r) {
             r["added_tokens"].push_back(r["added_tokens"][1]);
             r["added_tokens"][2]["id"] = 261;
         },
         "added twice"},
    });
}

TEST(TokenizerJson, RefusesWhatIsNotJson) {
    for (const char* text : {"", "{", "null", "[]", "7", "\"\"", "{}", "\xff", "{\"version\": \"1.0\"} x"})
        EXPECT_NE(refusal(text), "accepted") << text;
    EXPECT_NE(refusal(std::string(100000, '[')), "accepted");
    const std::string whole = sample().dump();
    for (std::size_t cut = 0; cut < whole.size(); cut += 37) EXPECT_NE(refusal(whole.substr(0, cut)), "accepted");
}

TEST(TokenizerJson, EscapesWhatItQuotes) {
    Json root = sample();
    root["model"]["merges"][0] = "a \x1b[31m\nred";
    EXPECT_NE(refusal(root.dump()).find("\\x1b[31m\\x0ared"), std::string::npos);
}

} // namespace
} // namespace ordo
