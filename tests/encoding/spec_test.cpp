// SPDX-License-Identifier: MIT
// The grammar of specs: its numbers and its errors.
#include "encoding/base/model_encodings.h"
#include "encoding/base/registry.h"
#include "encoding/base/rope_keys.h"
#include "tests/expect_error.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <sstream>

namespace ordo {
namespace spec_test {

const Dims dims{24, 3, 8, 2, 64};

std::string canonical(std::string_view spec) {
    return ModelEncodings(spec, dims).spec();
}

// The message of the Error(usage) that refuses a spec.
std::string refusal(std::string_view spec) {
    std::string text;
    EXPECT_EQ(code_of([&] { canonical(spec); }, &text), ErrorCode::usage) << spec << ": " << text;
    EXPECT_LT(text.size(), 600u) << text;
    return text;
}

const std::string rope = "rope:theta=10000,pairing=adjacent,width=8";

TEST(Spec, CanonicalPatternsHaveEveryParameter) {
    EXPECT_EQ(canonical("pattern(rope,none)"), "pattern((" + rope + "),none)");
    EXPECT_EQ(canonical("pattern((rope),(none))"), "pattern((" + rope + "),none)");
    EXPECT_EQ(canonical("pattern(none,(alibi+rope))+segment"),
              "pattern(none,(alibi:max=8,power=1+" + rope + "))+segment:count=2");
    for (const char* spec : {"pattern(rope,none)", "pattern(none,none,(rope:theta=5+alibi))+alibi"})
        EXPECT_EQ(canonical(canonical(spec)), canonical(spec));
}

// Equal layers need no pattern. A pattern that repeats itself is shortened to its period.
TEST(Spec, CanonicalPatternsAreAsShortAsTheyCanBe) {
    EXPECT_EQ(canonical("pattern(rope)"), rope);
    EXPECT_EQ(canonical("pattern(rope,(rope:theta=10000.0))"), rope);
    EXPECT_EQ(canonical("pattern((alibi+rope))"), "alibi:max=8,power=1+" + rope);
    EXPECT_EQ(canonical("pattern(rope,none,rope,none)"), canonical("pattern(rope,none)"));
    EXPECT_EQ(canonical("pattern(none)"), "none");
    EXPECT_EQ(canonical("pattern(none,none)+alibi"), canonical("alibi"));
    EXPECT_NE(canonical("pattern(rope,none,rope)"), canonical("pattern(rope,none)"));
}

// A file stores the spec with every parameter. A spec that is too long in that form is refused before training.
TEST(Spec, IsShortEnoughWhenWrittenOutToo) {
    std::string sum = "alibi";
    for (int i = 1; i < 250; ++i) sum += "+alibi";
    ASSERT_LT(sum.size(), 4096u);
    EXPECT_EQ(refusal(sum), "encoding spec with every parameter written out: expected at most 4096 bytes, found 4999");
}

TEST(Spec, RefusesPatternsByName) {
    const auto refused = [](const char* spec, const char* why) {
        const std::string text = refusal(spec);
        EXPECT_NE(text.find(why), text.npos) << spec << ": " << text;
    };
    refused("pattern()", "pattern: expected encodings in its parentheses, found none");
    refused("pattern", "pattern: expected encodings in parentheses");
    refused("pattern:theta=5", "pattern: expected encodings in parentheses");
    refused("pattern(rope", "'(' at byte 7: expected a ')'");
    refused("pattern(rope,(alibi)", "'(' at byte 7: expected a ')'");
    refused("pattern(rope))", "')' at byte 13: expected a '('");
    refused(")rope(", "')' at byte 0: expected a '('");
    refused("pattern(rope,pattern(alibi,none))", "a pattern inside a pattern");
    refused("pattern(rope,(pattern(alibi,none)))", "a pattern inside a pattern");
    refused("pattern(rope:theta=5,none)", "a sum in parentheses: (rope:theta=5)");
    refused("pattern(rope+alibi,none)", "a sum in parentheses: (rope+alibi)");
    refused("pattern(rope,)", "name of an encoding, found nothing");
    refused("pattern(,rope)", "name of an encoding, found nothing");
    refused("pattern(rope,())", "name of an encoding, found nothing");
    refused("pattern(rope,(rope+))", "name of an encoding, found nothing");
    refused("pattern((rope)alibi,none)", "after ')'");
    refused("pattern(rope,none)alibi", "after ')'");
    refused("pattern(rope,none):theta=5", "after ')'");
    refused("pattern(((rope)),none)", "expected the name of an encoding");
    refused("(rope)", "expected the name of an encoding");
    refused("rope(alibi)", "rope: expected ':' or the end, found '('");
    refused("rope:theta=(5)", "theta: expected a word");
    refused("rope:original=256", "rope: original: expected scaling=linear");
    refused("rope:scaling=none,factor=4", "rope: factor: expected scaling=linear");
    refused("ALiBi", "did you mean alibi?");
    refused("pattern(ropee,none)", "unknown encoding 'ropee'");
    refused("pattern((rope:thta=5),none)", "unknown key 'thta'");
    refused("pattern(learned,none)", "pattern: 'learned' acts on the embeddings");
    refused("pattern((sinusoidal))", "pattern: 'sinusoidal' acts on the embeddings");
}

TEST(Spec, HostilePatternsAreBounded) {
    refusal("pattern(" + std::string(4000, '('));
    refusal("pattern(" + std::string(2000, '(') + std::string(2000, ')') + ")");
    refusal(std::string(4096, ')'));
    refusal("pattern(" + std::string(4000, ',') + ")");
    std::string pattern = "pattern(rope";
    for (int i = 0; i < 80; ++i) pattern += ",(rope:theta=" + std::to_string(1000 + i) + ")";
    EXPECT_GT(canonical(pattern + ")").size(), 3000u);
    std::string nested;
    for (int i = 0; i < 400; ++i) nested += "pattern(";
    EXPECT_NE(refusal(nested + "rope" + std::string(400, ')')).find("inside a pattern"), std::string::npos);
}

TEST(Spec, ListsOfNumbers) {
    const auto item = [](const std::string& spec) { return parse_spec(spec).at(0); };
    const auto sections = [&](const std::string& value) {
        return item("x:sections=" + value).numbers("sections", {}, 0, 100, 2, 3);
    };
    EXPECT_EQ(sections("16/24/24"), (std::vector<double>{16, 24, 24}));
    EXPECT_EQ(sections("0.5/-0"), (std::vector<double>{0.5, 0}));
    EXPECT_EQ(item("x").numbers("sections", {1, 2}, 0, 100, 2, 3), (std::vector<double>{1, 2}));
    EXPECT_EQ(item("x:sections=none").numbers("sections", {1}, 0, 1, 0, 3), std::vector<double>{});
    for (const char* value : {"1", "1/2/3/4", "1/101", "1/-1", "none", "word", "1/x", "1/1e5"}) try {
            sections(value);
            ADD_FAILURE() << value;
        } catch (const Error& error) {
            EXPECT_EQ(error.code, ErrorCode::usage);
            EXPECT_NE(std::string(error.what()).find("sections"), std::string::npos) << error.what();
        }
    for (const char* value : {"/", "1/", "/1", "1//2", "1/2/", "a/b"}) refusal(std::string("rope:theta=") + value);
    EXPECT_NE(refusal("rope:theta=5/6").find("plain decimal"), std::string::npos);

    const std::vector<double> values = {16, 0.1, 24};
    const std::string spec = SpecWriter("x")("sections", values)("empty", std::span<const double>())("n", 1).text();
    EXPECT_EQ(spec, "x:sections=16/0.1/24,empty=none,n=1");
    EXPECT_EQ(item(spec).numbers("sections", {}, 0, 100, 0, 9), values);
}

// The defaults of each encoding are in declared_test.cpp.
TEST(Spec, CanonicalFormIsASum) {
    EXPECT_EQ(canonical(""), "none");
    EXPECT_EQ(canonical("none+none"), "none");
    EXPECT_EQ(canonical("rope:width=4,theta=10000.50"), "rope:theta=10000.5,pairing=adjacent,width=4");
    EXPECT_EQ(canonical("segment+none+learned"), "segment:count=2+learned:length=64,offset=0");
    EXPECT_EQ(canonical("sinusoidal+sinusoidal:offset=1").find('+'), canonical("sinusoidal").size());
}

TEST(Spec, EqualNumbersAreEqualInCanonicalForm) {
    EXPECT_EQ(canonical("rope:theta=010000.000"), canonical("rope"));
    EXPECT_EQ(canonical("rope:theta=500000"), "rope:theta=500000,pairing=adjacent,width=8");
    EXPECT_EQ(canonical("alibi:max=-0"), canonical("alibi:max=0.0"));
    EXPECT_EQ(canonical("alibi:max=-0"), "alibi:max=0,power=1");
}

TEST(Spec, WritesTheShortestPlainDecimal) {
    EXPECT_EQ(decimal(10000), "10000");
    EXPECT_EQ(decimal(0.1), "0.1");
    EXPECT_EQ(decimal(1e22), "10000000000000000000000");
    EXPECT_EQ(decimal(1e-7), "0.0000001");
    EXPECT_EQ(decimal(-2.5), "-2.5");
    EXPECT_EQ(decimal(1.0 / 3), "0.3333333333333333");
    for (const double value : {0.1, 1.0 / 3, std::sqrt(192.0), std::sqrt(512.0), 1e300, 5e-324, 123456.789, 1.1e-5}) {
        const std::string text = decimal(value);
        EXPECT_EQ(std::strtod(text.c_str(), nullptr), value) << text;
        EXPECT_EQ(text.find_first_not_of("0123456789.-"), text.npos) << text;
    }
    EXPECT_THROW(decimal(HUGE_VAL), Error);
    EXPECT_THROW(decimal(std::nan("")), Error);
}

TEST(Spec, RefusesWhatTheGrammarDoesNotHave) {
    std::istringstream specs(R"(+ rope+ +rope rope++alibi : rope: rope:, rope:theta rope:theta= rope:=1 rope:theta=1,
        rope:,theta=1 rope:theta=1,,width=2 rope:theta==1 rope:theta=1=2 rope;alibi Rope rope:theta=1:width=2 (rope)
        rope:Theta=1 rope:theta="1" rope:theta=+1 rope:theta=1. rope:theta=.5 rope:theta=1.2.3 rope:theta=1,5
        rope:theta=0x10 rope:theta=1_000 rope:theta=--1 rope:theta=-)");
    for (std::string spec; specs >> spec;) refusal(spec);
    for (const char* spec : {" rope", "rope ", "rope\n", "rope:theta=1 ", "r\xc3\xb6pe", "rope\xff"}) refusal(spec);
}

TEST(Spec, RefusesNumbersThatAreNotPlainDecimalsInRange) {
    for (const char* value : {"1e5", "1e400", "nan", "inf", "-inf", "infinity", "0", "-1", "abc", "100000000000000"}) {
        const std::string text = refusal(std::string("rope:theta=") + value);
        EXPECT_NE(text.find("theta"), text.npos) << text;
        EXPECT_NE(text.find(value), text.npos) << text;
    }
    for (const char* value : {"0", "1", "-2", "7", "10", "4.0", "4294967298", "99999999999999999999", "four"}) {
        const std::string text = refusal(std::string("rope:width=") + value);
        EXPECT_NE(text.find("width"), text.npos) << text;
        EXPECT_NE(text.find(value), text.npos) << text;
    }
    refusal("rope:theta=1" + std::string(400, '0'));
}

TEST(Spec, RefusesRepeatedAndUnknownKeysAndNamesTheNearest) {
    EXPECT_NE(refusal("rope:theta=1,theta=1").find("'theta' is given twice"), std::string::npos);
    const std::string text = refusal("rope:thta=5");
    for (const char* part : {"rope", "'thta'", "theta", "pairing", "width", "nearest: theta"})
        EXPECT_NE(text.find(part), text.npos) << text;
    EXPECT_NE(refusal("none:theta=5").find("no parameters"), std::string::npos);
    const std::string word = refusal("rope:pairing=half");
    for (const char* part : {"pairing", "adjacent", "halves", "'half'"}) EXPECT_NE(word.find(part), word.npos) << word;
}

TEST(Spec, RefusesUnknownNamesAndNamesTheNearest) {
    const std::string text = refusal("alibbi");
    for (const EncodingInfo* info : registered_encodings()) EXPECT_NE(text.find(info->name), text.npos) << text;
    EXPECT_NE(text.find("nearest: alibi"), text.npos) << text;
    EXPECT_EQ(refusal("xyzzyxyzzy").find("nearest"), std::string::npos);
}

TEST(Spec, KnowsTheFieldsOtherNames) {
    const std::pair<const char*, const char*> names[] = {{"nope", "none"},   {"NoPE", "none"},
                                                         {"rotary", "rope"}, {"sine", "sinusoidal"},
                                                         {"RoPE", "rope"},   {"transformer_xl", "transformer-xl"},
                                                         {"T5_bias", "t5"},  {"yarn", "rope:scaling=yarn"}};
    for (const auto& [typed, meant] : names)
        EXPECT_NE(refusal(typed).find(std::string("'; did you mean ") + meant + "?"), std::string::npos)
            << refusal(typed);
    for (const char* none : {"r\xc3\xb6pe", "rop_e", "_", "Roap"})
        EXPECT_EQ(refusal(none).find("did you mean"), std::string::npos) << none;
}

TEST(Spec, MessagesAreSafeForATerminal) {
    const std::string escape = refusal("a\x1b[2J\r\n");
    EXPECT_EQ(escape.find_first_of("\x1b\r"), escape.npos);
    refusal(std::string(4096, 'a'));
    refusal("rope:" + std::string(4000, 'a') + "=1");
    refusal("rope:theta=" + std::string(4000, 'a'));
    refusal(std::string(2000, 'a') + ":" + std::string(2000, 'b') + "=");
}

TEST(Spec, IsBounded) {
    const std::string written = canonical("alibi");
    std::string sum = "alibi", longest = written;
    std::size_t n = 1;
    for (; longest.size() + 1 + written.size() <= 4096; ++n, sum += "+alibi") longest += "+" + written;
    EXPECT_EQ(ModelEncodings(sum, dims).items().size(), n);
    EXPECT_EQ(ModelEncodings(longest, dims).items().size(), n);
    EXPECT_NE(refusal(sum + "+alibi").find("4096"), std::string::npos);
    EXPECT_NE(refusal(std::string(1 << 20, '+')).find("4096"), std::string::npos);
}

TEST(Spec, NearestIsByEdits) {
    const std::vector<std::string_view> words = {"rope", "alibi", "learned"};
    EXPECT_EQ(nearest("rop", words), "rope");
    EXPECT_EQ(nearest("lerned", words), "learned");
    EXPECT_EQ(nearest("ailbi", words), "alibi");
    EXPECT_EQ(nearest("zzzz", words), "");
    EXPECT_EQ(nearest("lea", words), "learned"); // a prefix
    EXPECT_EQ(nearest("nope", std::vector<std::string_view>{"rope", "none"}), "rope");
    EXPECT_EQ(nearest("zone", std::vector<std::string_view>{"fire", "none"}), "none");
    EXPECT_EQ(nearest("bone!", std::vector<std::string_view>{"none"}), ""); // half of the letters differ
    EXPECT_EQ(nearest("", words), "");
    EXPECT_EQ(nearest(std::string(100000, 'a'), words), "");
}

// ---- LoadOptions::rope ---------------------------------------------------------------------------

std::string changed(const std::string& spec, const std::string& keys) {
    return ModelEncodings(with_rope_keys(ModelEncodings(spec, dims).spec(), keys), dims).spec();
}
TEST(RopeKeys, AreSetInEachRopeAndReplaceAScaling) {
    EXPECT_EQ(changed("rope:theta=500", "scaling=linear,factor=4"),
              canonical("rope:theta=500,scaling=linear,factor=4"));
    EXPECT_EQ(changed("rope:scaling=yarn,factor=4,original=20,beta-fast=16", "scaling=linear,factor=2"),
              canonical("rope:scaling=linear,factor=2"));
    EXPECT_EQ(changed("rope:scaling=linear,factor=2", "factor=8"), canonical("rope:scaling=linear,factor=8"));
    EXPECT_EQ(changed("alibi+pattern(rope,none,(rope:theta=9))", "theta=7"),
              canonical("alibi+pattern((rope:theta=7),none,(rope:theta=7))"));
}

TEST(RopeKeys, RefuseWhatChangesNothing) {
    for (const auto& [spec, keys] : {std::pair{"alibi", "theta=7"},
                                     {"rope", "thta=7"},
                                     {"rope", "theta"},
                                     {"rope", "theta=7+alibi"},
                                     {"rope", ""}})
        EXPECT_THROW(changed(spec, keys), Error) << spec << ' ' << keys;
}

} // namespace spec_test
} // namespace ordo
