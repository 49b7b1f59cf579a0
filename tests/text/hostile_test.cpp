// SPDX-License-Identifier: MIT
// Files that could overload a tokenizer: endless components, growing texts, and searches in quadratic time. Each caused
// a failure once. tests/malformed measures whole models, and tests/text/regex_test.cpp has the patterns.
#include "core/error.h"
#include "text/tokenizer.h"

#include <exception>

#include <gtest/gtest.h>

namespace ordo {
namespace {

std::string list_of(const std::string& part, int n) {
    std::string list = "[";
    for (int i = 0; i < n; ++i) list += (i > 0 ? "," : "") + part;
    return list + "]";
}
std::string sequence(const std::string& key, const std::string& part, int n) {
    return R"({"type":"Sequence",")" + key + "\":" + list_of(part, n) + "}";
}

constexpr const char* letters_json = R"({"type":"BPE","unk_token":null,"vocab":{"a":0,"b":1," ":2,"_":3},"merges":[]})";

// A tokenizer of a few letters with some members given.
struct Parts {
    std::string normalizer = "null", pre_tokenizer = "null", post_processor = "null", decoder = "null";
    std::string model = letters_json, added = "[]";

    std::unique_ptr<Tokenizer> make() const {
        return tokenizer_from_json(R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":)" + added +
                                       R"(,"normalizer":)" + normalizer + R"(,"pre_tokenizer":)" + pre_tokenizer +
                                       R"(,"post_processor":)" + post_processor + R"(,"decoder":)" + decoder +
                                       R"(,"model":)" + model + "}",
                                   "tok.json");
    }
    std::vector<Token> encode(std::string_view text) const {
        std::vector<Token> tokens;
        make()->encode(text, true, tokens);
        return tokens;
    }
    // The message and code of its refusal, which comes when it encodes a text at the latest.
    std::string refusal(ErrorCode code, std::string_view text = "aaaaaaaaaa") const {
        try {
            encode(text);
        } catch (const Error& error) {
            EXPECT_EQ(error.code, code) << error.what();
            const std::string what = error.what();
            for (const char* internal : {"\n", "std::", "bad_", "basic_string", "vector::", "exception"})
                EXPECT_EQ(what.find(internal), std::string::npos) << what;
            return what;
        } catch (const std::exception& error) {
            ADD_FAILURE() << "the standard library's own words: " << error.what();
            return error.what();
        }
        return "accepted";
    }
};

void expect_in(const std::string& text, const std::string& phrase) {
    EXPECT_NE(text.find(phrase), std::string::npos) << text;
}

// ---- Components -----------------------------------------------------------------------------------

constexpr const char* lowercase = R"({"type":"Lowercase"})";
constexpr const char* split_json = R"({"type":"WhitespaceSplit"})";
constexpr const char* fuse = R"({"type":"Fuse"})";
constexpr const char* byte_level_json =
    R"({"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":false})";

TEST(HostileTokenizers, ComponentsAreAtMost512) {
    const auto each = [](int n) {
        return std::vector<Parts>{{.normalizer = sequence("normalizers", lowercase, n)},
                                  {.pre_tokenizer = sequence("pretokenizers", split_json, n)},
                                  {.post_processor = sequence("processors", byte_level_json, n)},
                                  {.decoder = sequence("decoders", fuse, n)}};
    };
    for (const Parts& parts : each(512)) EXPECT_EQ(parts.encode("ab"), (std::vector<Token>{0, 1}));
    for (const Parts& parts : each(25'000))
        expect_in(parts.refusal(ErrorCode::model), "[512]: expected at most 512 components");
    // Nested sequences count together.
    const std::string halves = sequence("pretokenizers", sequence("pretokenizers", split_json, 257), 2);
    expect_in(Parts{.pre_tokenizer = halves}.refusal(ErrorCode::model),
              "pretokenizers[1].pretokenizers[255]: expected at most 512 components");
}

TEST(HostileTokenizers, SequencesNestAsDeepAsJsonMay) {
    std::string begin, end;
    for (int i = 0; i < 100'000; ++i) {
        begin += R"({"type":"Sequence","pretokenizers":[)";
        end += "]}";
    }
    const std::string nested = begin + split_json + end;
    expect_in(Parts{.pre_tokenizer = nested}.refusal(ErrorCode::model), "JSON nested deeper than 64");
}

// Real exports contain these. They once ended in the standard library's "bad_function_call".
TEST(HostileTokenizers, ComponentsThatAreNullOrEmptyDoNothing) {
    const std::vector<Token> expected{0, 2, 1};
    for (const Parts& parts : std::vector<Parts>{
             {.normalizer = R"({"type":"Sequence","normalizers":[null]})"},
             {.normalizer = R"({"type":"Sequence","normalizers":[]})"},
             {.normalizer = R"({"type":"Precompiled","precompiled_charsmap":null})"},
             {.normalizer =
                  R"({"type":"Sequence","normalizers":[{"type":"Precompiled","precompiled_charsmap":null}]})"},
             {.normalizer =
                  R"({"type":"Sequence","normalizers":[{"type":"Precompiled","precompiled_charsmap":""},null]})"},
             {.pre_tokenizer = R"({"type":"Sequence","pretokenizers":[]})"},
             {.pre_tokenizer = R"({"type":"Sequence","pretokenizers":[null,{"type":"Sequence","pretokenizers":[]}]})"},
             {.post_processor = R"({"type":"Sequence","processors":[null]})"},
             {.decoder = R"({"type":"Sequence","decoders":[null]})"},
             {.decoder = R"({"type":"Sequence","decoders":[]})"},
         })
        EXPECT_EQ(parts.encode("a b"), expected);
}

// ---- Growth ---------------------------------------------------------------------------------------

std::string replacing(const std::string& what, const std::string& with) {
    return R"({"type":"Replace","pattern":{"String":")" + what + R"("},"content":")" + with + "\"}";
}

TEST(HostileTokenizers, DecodersMayNotFillTheMemory) {
    const std::string twenty = replacing("a", std::string(20, 'a'));
    expect_in(Parts{.decoder = sequence("decoders", twenty, 8)}.refusal(ErrorCode::limit),
              "tok.json: decoder: expected 8 bytes to become at most 65792, found");
    expect_in(
        Parts{.decoder = sequence("decoders", R"({"type":"WordPiece","prefix":"##","cleanup":false})", 64)}.refusal(
            ErrorCode::limit),
        "accepted"); // with a space each
}

TEST(HostileTokenizers, AddedTokensMayNotFillTheMemory) {
    std::string added = "[";
    for (int i = 0; i < 2000; ++i)
        added += (i > 0 ? "," : "") + (R"({"id":)" + std::to_string(4 + i)) + R"(,"content":"t)" + std::to_string(i) +
                 R"(","single_word":false,"lstrip":false,"rstrip":false,"normalized":true,"special":false})";
    const Parts parts{.normalizer = R"({"type":"Prepend","prepend":")" + std::string(60'000, 'a') + "\"}",
                      .added = added + "]"};
    expect_in(parts.refusal(ErrorCode::limit), "tok.json: added_tokens: expected 8890 bytes to become at most");
}

TEST(HostileTokenizers, PiecesMayNotFillTheMemory) {
    const std::string each_letter = R"({"type":"Split","pattern":{"Regex":"."},"behavior":"Isolated","invert":false})";
    for (const Parts& parts : std::vector<Parts>{
             {.normalizer = sequence("normalizers", R"({"type":"ByteLevel"})", 60)},
             {.pre_tokenizer = sequence("pretokenizers", byte_level_json + std::string(",") + split_json, 30)},
             // Each piece becomes two: a mark and itself.
             {.pre_tokenizer = sequence("pretokenizers", byte_level_json + std::string(",") + each_letter, 30)},
             {.normalizer = sequence("normalizers", replacing("a", "aa"), 60)},
         })
        expect_in(parts.refusal(ErrorCode::limit, "\u00e9aaaaaaaaa "),
                  "text to encode: expected 12 bytes to become at most");
}

TEST(HostileTokenizers, TemplatesMayNotFillTheMemory) {
    const auto with = [](int ids, int parts, const std::string& text) {
        return Parts{.post_processor = R"({"type":"TemplateProcessing","single":)" +
                                       list_of(R"({"SpecialToken":{"id":"x","type_id":0}})", parts).insert(1, text) +
                                       R"(,"pair":[],"special_tokens":{"x":{"id":"x","tokens":["a"],"ids":)" +
                                       list_of("0", ids) + "}}}"};
    };
    const std::string a = R"({"Sequence":{"id":"A","type_id":0}},)";
    EXPECT_EQ(with(64, 63, a).refusal(ErrorCode::model), "accepted");
    expect_in(with(65, 1, a).refusal(ErrorCode::model), "special_tokens: \"x\": expected at most 64 ids, found more");
    expect_in(with(1, 64, a).refusal(ErrorCode::model), "single: expected at most 64 parts, found more");
    expect_in(with(1, 1, a + a).refusal(ErrorCode::model), "text A twice is not supported");
}

// ---- Time -----------------------------------------------------------------------------------------

// A token for each number of letters_json, so that 512 of them match at every place of the text.
TEST(HostileTokenizers, RunsOfOneLetterTakeLinearTime) {
    std::string unigram = R"({"type":"Unigram","unk_id":0,"vocab":[["?",0])", pieces = R"({"?":0)";
    for (int i = 1; i <= 512; ++i) {
        unigram += R"(,[")" + std::string(static_cast<std::size_t>(i), 'a') + "\",-" + std::to_string(i) + ".5]";
        pieces += R"(,")" + std::string(static_cast<std::size_t>(i), 'a') + "\":" + std::to_string(i);
    }
    const std::string text(1 << 16, 'a');
    const std::vector<Token> longest(128, 512);
    EXPECT_EQ(Parts{.model = unigram + "]}"}.encode(text), longest);
    EXPECT_EQ((Parts{.model = R"({"type":"WordPiece","unk_token":"?","continuing_subword_prefix":"",)"
                              R"("max_input_chars_per_word":1000000,"vocab":)" +
                              pieces + "}}"}
                   .encode(text)),
              longest);
}

// Erasing a mark from one token at a time would move the whole rest of the text.
TEST(HostileTokenizers, DecodersTakeLinearTime) {
    const std::string model =
        R"({"type":"BPE","vocab":{"a":0,")" + std::string(2'000'000, '_') + R"(":1},"merges":[]})";
    const auto tokenizer =
        Parts{.decoder = R"({"type":"Metaspace","replacement":"_","prepend_scheme":"always","split":true})",
              .model = model}
            .make();
    EXPECT_EQ(tokenizer->longest(), 2'000'000u);
}

} // namespace
} // namespace ordo
