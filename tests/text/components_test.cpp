// SPDX-License-Identifier: MIT
// Single components of a tokenizer.json. The expected values come from Hugging Face's documentation and its own tests.
// tests/text/differential compares whole tokenizers.
#include "core/error.h"
#include "formats/sentence_piece/model.h"
#include "tests/temp_dir.h"
#include "text/decoder.h"
#include "text/normalizer.h"
#include "text/post_processor.h"
#include "text/pre_tokenizer.h"

#include <gtest/gtest.h>

namespace ordo {
namespace {

using Pieces = std::vector<std::string>;

std::string normal(std::string_view json, std::string text) {
    Allowance allowance("text to encode", text.size());
    if (const Normalizer normalize = make_normalizer(parse_json(json, "test"), "test")) normalize(text, allowance);
    return text;
}

Pieces cut(std::string_view json, std::string_view text) {
    bool bytes = false;
    Pieces pieces;
    Allowance allowance("text to encode", text.size());
    const PieceSink sink = [&](const Piece& piece) { pieces.emplace_back(piece.text); };
    const PreTokenizer cut = make_pre_tokenizer(parse_json(json, "test"), "test", &bytes);
    cut ? cut({text, true}, allowance, sink) : sink({text, true});
    return pieces;
}

std::string decoded(std::string_view json, const Pieces& tokens) {
    const Decoder decode = make_decoder(parse_json(json, "test"), "test");
    std::string text;
    Allowance allowance("tokens", 100);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        std::string token = tokens[i];
        decode(token, i == 0, allowance);
        text += token;
    }
    return text;
}

TEST(Normalizers, MakeNoMountainOfAWord) {
    const auto refused = [](const std::string& json, const std::string& text) {
        try {
            normal(json, text);
            return std::string("none");
        } catch (const Error& error) {
            EXPECT_EQ(error.code, ErrorCode::limit);
            return std::string(error.what());
        }
    };
    std::string doublings;
    for (int i = 0; i < 30; ++i)
        doublings += std::string(i ? "," : "") + R"({"type":"Replace","pattern":{"String":"a"},"content":"aa"})";
    EXPECT_NE(refused(R"({"type":"Sequence","normalizers":[)" + doublings + "]}", "aaaa").find("to become at most"),
              std::string::npos);
    // Nested sequences share one limit.
    std::string nested = R"({"type":"Replace","pattern":{"String":"a"},"content":"aaaaaaaaaaaaaaaa"})";
    for (int i = 0; i < 3; ++i)
        nested =
            R"({"type":"Sequence","normalizers":[{"type":"Replace","pattern":{"String":"a"},"content":"aaaaaaaaaaaaaaaa"},)" +
            nested + "]}";
    EXPECT_NE(refused(nested, std::string(1000, 'a')).find("expected 1000 bytes to become at most 97536,"),
              std::string::npos);
    const std::string thousand =
        R"({"type":"Replace","pattern":{"String":"a"},"content":")" + std::string(1000, 'a') + "\"}";
    EXPECT_NE(refused(thousand, std::string(1 << 16, 'a')).find("to become at most 2162688,"), std::string::npos);
    EXPECT_EQ(normal(thousand, "aab").size(), 2001u);
    // NFKC's largest expansion: U+FDFA grows from 3 bytes to 33.
    std::string ligatures;
    for (int i = 0; i < 50000; ++i) ligatures += "\ufdfa";
    EXPECT_EQ(normal(R"({"type":"Sequence","normalizers":[{"type":"NFKC"}]})", ligatures).size(), 33u * 50000);
}

// A search takes up to the product of both sizes, so a long pattern is PCRE2's, whose time and size are limited.
TEST(Normalizers, LimitTheTimeOfLongPatterns) {
    const auto replace = [](std::size_t size) {
        return R"({"type":"Replace","pattern":{"String":")" + std::string(size, 'a') + "b\"},\"content\":\"\"}";
    };
    const std::string text(1 << 20, 'a');
    EXPECT_EQ(normal(replace(63), text + "b").size(), text.size() - 63);
    EXPECT_EQ(normal(replace(64), text + "b").size(), text.size() - 64);
    EXPECT_THROW(normal(replace(1 << 20), text), Error);
}

TEST(Normalizers, DoWhatTheirNamesSay) {
    EXPECT_EQ(normal("null", " A"), " A");
    EXPECT_EQ(normal(R"({"type":"Lowercase"})", "ABC \u00c9"), "abc \u00e9");
    EXPECT_EQ(normal(R"({"type":"Strip","strip_left":true,"strip_right":false})", " \u3000a "), "a ");
    EXPECT_EQ(normal(R"({"type":"StripAccents"})", "e\u0301"), "e");
    EXPECT_EQ(normal(R"({"type":"Prepend","prepend":"_"})", "a"), "_a");
    EXPECT_EQ(normal(R"({"type":"Prepend","prepend":"_"})", ""), "");
    EXPECT_EQ(normal(R"({"type":"Replace","pattern":{"String":".."},"content":"x"})", "a....b."), "axxb.");
    EXPECT_EQ(normal(R"({"type":"Replace","pattern":{"String":"é"},"content":"e"})", "\xc3\xc3\xa9\xa9\xe9\xa9"),
              "\xc3"
              "e"
              "\xa9\xe9\xa9"); // the other bytes are not UTF-8
    EXPECT_EQ(normal(R"({"type":"Replace","pattern":{"Regex":" {2,}"},"content":" "})", "a   b c"), "a b c");
    EXPECT_EQ(normal(R"({"type":"Sequence","normalizers":[{"type":"NFD"},{"type":"StripAccents"}]})", "\u00e9\xff"),
              "e\xff");
}

TEST(Normalizers, Bert) {
    const char* uncased = R"({"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,)"
                          R"("strip_accents":null,"lowercase":true})";
    EXPECT_EQ(normal(uncased, "H\u00e9llo\t\u4f60!\x01\ufffd\xff"), "hello  \u4f60 !");
    const char* cased = R"({"type":"BertNormalizer","clean_text":false,"handle_chinese_chars":false,)"
                        R"("strip_accents":null,"lowercase":false})";
    EXPECT_EQ(normal(cased, "H\u00e9\t\u4f60"), "H\u00e9\t\u4f60");
}

// A map with one rule, laid out by hand: a (0x61) becomes "bc". The units follow darts-clone: the root leads to 0x61,
// and the leaf of that unit holds the offset of the replacement.
TEST(Normalizers, PrecompiledMaps) {
    const auto word = [](std::uint32_t value) {
        std::string bytes;
        for (int i = 0; i < 4; ++i) bytes += static_cast<char>(value >> 8 * i & 255);
        return bytes;
    };
    std::string units = word(1 << 10); // the root, at 0: its children stand at 1 ^ byte
    while (units.size() < 4 * 0x60) units += word(1u << 31);
    units += word(2u << 10 | 1u << 8 | 0x61); // 0x60 = 1 ^ 0x61: has a leaf, at 0x60 ^ 2
    units += word(1u << 31);
    units += word(1u << 31 | 0); // 0x62: the leaf, with offset 0
    const std::string map = word(static_cast<std::uint32_t>(units.size())) + units + std::string("bc\0", 3);
    std::string text = "xa\u00e9a\xff";
    Allowance allowance("test", 1 << 20);
    make_precompiled(map, "test")(text, allowance);
    EXPECT_EQ(text, "xbc\u00e9bc\xff");
    EXPECT_EQ(from_base64(to_base64(map), "test"), map);
    for (std::size_t size = 1; size < 6; ++size) { // truncated: the sizes do not fit
        EXPECT_THROW(make_precompiled(map.substr(0, size), "test"), Error);
        EXPECT_THROW(make_precompiled(word(0xfffffffc) + map.substr(4, size), "test"), Error);
    }
    for (std::size_t at = 4; at < map.size(); at += 3) { // with any bytes, no read leaves the map
        std::string broken = map;
        broken[at] = '\x7f';
        text = "aaa\u00e9";
        make_precompiled(broken, "test")(text, allowance);
    }
}

// In a tokenizer.json, the map replaces a short cluster with the replacement of its shortest prefix, as in Hugging
// Face's tokenizers 0.23.2, which loses the acute here. SentencePiece itself keeps it (sentence_piece_files_test.cpp).
TEST(Normalizers, PrecompiledMapsAreReadAsTheReferenceReadsThem) {
    const std::string file = test::file_content("tests/text/sentence_piece/accents.model");
    const Normalizer normalize = make_precompiled(read_sentence_piece(file, "accents.model").charsmap, "test");
    for (const auto& [text, expected] : {std::pair("o\u0302", "\u00f4"),
                                         {"xo\u0302\u0301", "x\u00f4"},
                                         {"o\u0301\u0302", "o\u0301\u0302"},
                                         {"o\u0302\u0301\u0301", "o\u0302\u0301\u0301"}, // seven bytes
                                         {"\u1ed1", "\u1ed1"}}) {
        std::string found = text;
        Allowance allowance("test", 100);
        normalize(found, allowance);
        EXPECT_EQ(found, expected) << text;
    }
}

TEST(PreTokenizers, Behaviours) { // the table of Hugging Face's own documentation
    const auto split = [](const std::string& behavior) {
        return cut(R"({"type":"Split","pattern":{"String":"-"},"invert":false,"behavior":")" + behavior + "\"}",
                   "the-final--countdown");
    };
    EXPECT_EQ(split("Removed"), (Pieces{"the", "final", "countdown"}));
    EXPECT_EQ(split("Isolated"), (Pieces{"the", "-", "final", "-", "-", "countdown"}));
    EXPECT_EQ(split("MergedWithPrevious"), (Pieces{"the-", "final-", "-", "countdown"}));
    EXPECT_EQ(split("MergedWithNext"), (Pieces{"the", "-final", "-", "-countdown"}));
    EXPECT_EQ(split("Contiguous"), (Pieces{"the", "-", "final", "--", "countdown"}));
}

TEST(PreTokenizers, DoWhatTheirNamesSay) {
    EXPECT_EQ(cut(R"({"type":"Whitespace"})", "Hey, you_1  ok!?"), (Pieces{"Hey", ",", "you_1", "ok", "!?"}));
    EXPECT_EQ(cut(R"({"type":"WhitespaceSplit"})", "Hey, you\u3000ok"), (Pieces{"Hey,", "you", "ok"}));
    EXPECT_EQ(cut(R"({"type":"BertPreTokenizer"})", "Hey, \u4f60?!"), (Pieces{"Hey", ",", "\u4f60", "?", "!"}));
    EXPECT_EQ(cut(R"({"type":"Digits","individual_digits":true})", "a12b"), (Pieces{"a", "1", "2", "b"}));
    EXPECT_EQ(cut(R"({"type":"Digits","individual_digits":false})", "a12b"), (Pieces{"a", "12", "b"}));
    EXPECT_EQ(cut(R"({"type":"Punctuation"})", "a$b"), (Pieces{"a", "$", "b"}));
    const std::string metaspace = R"({"type":"Metaspace","replacement":"_","prepend_scheme":"always","split":true})";
    EXPECT_EQ(cut(metaspace, "a  b"), (Pieces{"_a", "_", "_b"}));
    EXPECT_EQ(cut(metaspace, " a"), (Pieces{"_a"}));
    EXPECT_EQ(cut(R"({"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true})", "a b"),
              (Pieces{" a", " b"})); // a final ByteLevel keeps the bytes
}

TEST(Decoders, DoWhatTheirNamesSay) {
    EXPECT_EQ(decoded("null", {"a", "b"}), "a b");
    EXPECT_EQ(decoded(R"({"type":"WordPiece","prefix":"##","cleanup":true})", {"my", "##name", "is", "do", "n't", "."}),
              "myname is don't.");
    EXPECT_EQ(decoded(R"({"type":"Metaspace","replacement":"_","prepend_scheme":"always"})", {"_a", "_b", "c"}),
              "a bc");
    EXPECT_EQ(decoded(R"({"type":"Metaspace","replacement":"_","prepend_scheme":"never"})", {"_a", "_b"}), " a b");
    EXPECT_EQ(decoded(R"({"type":"ByteFallback"})", {"<0xE4>", "<0xBD>", "<0xa0>", "<0x-1>", "<0x100>"}),
              "\u4f60<0x-1><0x100>");
    EXPECT_EQ(decoded(R"({"type":"Strip","content":"_","start":1,"stop":1})", {"__a__", "_"}), "_a_");
    EXPECT_EQ(decoded(R"({"type":"Sequence","decoders":[{"type":"Fuse"},)"
                      R"({"type":"Strip","content":" ","start":1,"stop":0}]})",
                      {" a", " b"}),
              "a b");
    EXPECT_EQ(decoded(R"({"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true})", {"\u0120a", "\u4f60"}),
              " a\u4f60");
}

TEST(Frames, PutTokensAround) {
    const auto frame = [](std::string_view json) { return make_frame(parse_json(json, "test"), 10, "test"); };
    EXPECT_EQ(frame("null").before(), std::vector<Token>{});
    const Frame bert = frame(R"({"type":"BertProcessing","sep":["[SEP]",3],"cls":["[CLS]",2]})");
    EXPECT_EQ(bert.before(), std::vector<Token>{2});
    EXPECT_EQ(bert.after(), std::vector<Token>{3});
    EXPECT_EQ(bert.two.size(), 5u);
    EXPECT_EQ(bert.two[3].segment, 1);
    const Frame roberta = frame(R"({"type":"RobertaProcessing","sep":["</s>",3],"cls":["<s>",2],"trim_offsets":true,)"
                                R"("add_prefix_space":true})");
    EXPECT_EQ(roberta.two[2].tokens, (std::vector<Token>{3, 3})); // two separators, all in segment 0
    EXPECT_EQ(roberta.two[3].segment, 0);
    EXPECT_THROW(frame(R"({"type":"BertProcessing","sep":["[SEP]",10],"cls":["[CLS]",2]})"), Error); // out of range
    EXPECT_THROW(frame(R"({"type":"TemplateProcessing","single":[{"Sequence":{"id":"B","type_id":0}}],"pair":[],)"
                       R"("special_tokens":{}})"),
                 Error);
}

} // namespace
} // namespace ordo
