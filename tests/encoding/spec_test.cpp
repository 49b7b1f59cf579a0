// SPDX-License-Identifier: MIT
// The grammar of specs, number by number and mistake by mistake.
#include "encoding/registry.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ordo {
namespace {

constexpr Dims dims{24, 3, 8, 2, 64};

std::string canonical(std::string_view spec) {
    return EncodingStack(spec, dims).spec();
}

// The message of the Error(usage) that a spec is refused with.
std::string refusal(std::string_view spec) {
    try {
        const std::string found = canonical(spec);
        ADD_FAILURE() << "'" << spec << "' was read as " << found;
    } catch (const Error& error) {
        EXPECT_EQ(error.code, ErrorCode::usage) << error.what();
        const std::string text = error.what();
        EXPECT_EQ(text.find('\n'), text.npos) << "more than one line: " << text;
        EXPECT_LT(text.size(), 600u) << text;
        return text;
    }
    return "";
}

TEST(Spec, ParsesItemsAndKeys) {
    const std::vector<SpecItem> items = parse_spec("rope:theta=0.5,pairing=halves+alibi+rotate-stretch:period=6");
    ASSERT_EQ(items.size(), 3u);
    EXPECT_EQ(items[0].name, "rope");
    ASSERT_EQ(items[0].values.size(), 2u);
    EXPECT_EQ(items[0].values[0], (std::pair<std::string, std::string>("theta", "0.5")));
    EXPECT_EQ(items[0].values[1], (std::pair<std::string, std::string>("pairing", "halves")));
    EXPECT_EQ(items[1].name, "alibi");
    EXPECT_TRUE(items[1].values.empty());
    EXPECT_EQ(items[2].name, "rotate-stretch");
}

TEST(Spec, CanonicalFormHasEveryParameter) {
    EXPECT_EQ(canonical(""), "none");
    EXPECT_EQ(canonical("none"), "none");
    EXPECT_EQ(canonical("none+none"), "none");
    EXPECT_EQ(canonical("rope"), "rope:theta=10000,pairing=adjacent,width=8");
    EXPECT_EQ(canonical("rope:width=4,theta=10000.50"), "rope:theta=10000.5,pairing=adjacent,width=4");
    EXPECT_EQ(canonical("alibi"), "alibi:max=8,power=1");
    EXPECT_EQ(canonical("learned"), "learned:length=64,offset=0");
    EXPECT_EQ(canonical("segment"), "segment:count=2");
    EXPECT_EQ(canonical("rotate-stretch"), "rotate-stretch:period=36,step=0.1");
    // sqrt(24) = 4.898979485566356196...
    EXPECT_EQ(canonical("sinusoidal"),
              "sinusoidal:scale=4.898979485566356,base=10000,layout=interleaved,law=paper,offset=0");
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
    for (const char* spec : {"+",
                             "rope+",
                             "+rope",
                             "rope++alibi",
                             ":",
                             "rope:",
                             "rope:,",
                             "rope:theta",
                             "rope:theta=",
                             "rope:=1",
                             "rope:theta=1,",
                             "rope:,theta=1",
                             "rope:theta=1,,width=2",
                             "rope:theta==1",
                             "rope:theta=1=2",
                             "rope;alibi",
                             " rope",
                             "rope ",
                             "Rope",
                             "rope\n",
                             "rope:theta=1:width=2",
                             "(rope)",
                             "rope:theta=1 ",
                             "rope:Theta=1",
                             "rope:theta=\"1\"",
                             "rope:theta=+1",
                             "rope:theta=1.",
                             "rope:theta=.5",
                             "rope:theta=1.2.3",
                             "rope:theta=1,5",
                             "rope:theta=0x10",
                             "rope:theta=1_000",
                             "rope:theta=--1",
                             "rope:theta=-",
                             "r\xc3\xb6pe",
                             "rope\xff"})
        refusal(spec);
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
    refusal("learned:length=0");
    refusal("learned:offset=-1");
    refusal("segment:count=0");
    refusal("rotate-stretch:period=0");
    refusal("rotate-stretch:period=36.5");
    refusal("rotate-stretch:step=-0.1");
    refusal("sinusoidal:base=0");
    refusal("sinusoidal:scale=-1");
    refusal("alibi:max=-1");
    refusal("rope:theta=1" + std::string(400, '0'));
}

TEST(Spec, RefusesAnOddRotaryWidth) {
    EXPECT_NE(refusal("rope:width=3").find("even"), std::string::npos);
    Dims odd = dims;
    odd.d_head = 7;
    EXPECT_THROW(EncodingStack("rope", odd), Error);
    EXPECT_EQ(EncodingStack("rope:width=6", odd).spec(), "rope:theta=10000,pairing=adjacent,width=6");
}

TEST(Spec, RefusesRepeatedKeysByName) {
    EXPECT_NE(refusal("rope:theta=1,theta=1").find("'theta' is given twice"), std::string::npos);
}

TEST(Spec, RefusesUnknownKeysAndNamesTheNearest) {
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

TEST(Spec, MessagesAreSafeForATerminal) {
    const std::string escape = refusal("a\x1b[2J\r\n");
    EXPECT_EQ(escape.find_first_of("\x1b\r"), escape.npos);
    refusal(std::string(4096, 'a'));
    refusal("rope:" + std::string(4000, 'a') + "=1");
    refusal("rope:theta=" + std::string(4000, 'a'));
    refusal(std::string(2000, 'a') + ":" + std::string(2000, 'b') + "=");
}

TEST(Spec, IsBounded) {
    std::string sum = "alibi";
    while (sum.size() + 6 <= 4096) sum += "+alibi";
    EXPECT_EQ(EncodingStack(sum, dims).items().size(), (sum.size() + 1) / 6);
    EXPECT_NE(refusal(sum + "+alibi").find("4096"), std::string::npos);
    EXPECT_NE(refusal(std::string(1 << 20, '+')).find("4096"), std::string::npos);
}

TEST(Spec, NearestIsByEdits) {
    const std::vector<std::string_view> words = {"rope", "alibi", "learned"};
    EXPECT_EQ(nearest("rop", words), "rope");
    EXPECT_EQ(nearest("lerned", words), "learned");
    EXPECT_EQ(nearest("ailbi", words), "alibi");
    EXPECT_EQ(nearest("zzzz", words), "");
    EXPECT_EQ(nearest("", words), "");
    EXPECT_EQ(nearest(std::string(100000, 'a'), words), "");
}

} // namespace
} // namespace ordo
