// SPDX-License-Identifier: MIT
#include "io/json_writer.h"
#include "tests/json.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace {

using namespace ordo;
using test::Json;

std::string json_refusal(std::string_view text, const JsonLimits& limits = json_header_limits) {
    try {
        parse_json(text, "f.json: part", limits);
    } catch (const Error& error) {
        EXPECT_EQ(error.code, ErrorCode::model);
        const std::string what = error.what();
        EXPECT_EQ(what.find('\n'), std::string::npos) << what;
        EXPECT_TRUE(what.starts_with("f.json: part: ")) << what;
        EXPECT_LT(what.size(), 400u) << what;
        return what.substr(std::min(what.size(), std::string("f.json: part: ").size()));
    }
    return "accepted";
}

template <class Body>
std::string message(const Body& body) {
    try {
        body();
    } catch (const Error& error) {
        EXPECT_EQ(error.code, ErrorCode::model);
        return error.what();
    }
    return "accepted";
}

std::string nested(int depth) {
    return std::string(static_cast<std::size_t>(depth), '[') + std::string(static_cast<std::size_t>(depth), ']');
}

std::string written(const JsonValue& value, int indent = -1) {
    JsonWriter writer(indent);
    writer.value(value);
    return writer.take();
}

TEST(JsonParser, ReadsWhatTheGrammarHas) {
    const std::string text =
        R"( {"a": [1, -2, 2.5e1, true, false, null, {}, []], "b": {"c": "\u00e9\n\ud83d\ude00é"}, "": 18446744073709551615} )";
    const JsonValue json = parse_json(text, "x");
    EXPECT_EQ(Json::parse(written(json)), Json::parse(text));
    EXPECT_EQ(json.object()->front().key, "a"); // in the text's order
    EXPECT_EQ(json.object()->back().key, "");
    EXPECT_EQ(*parse_json("3", "x").unsigned_integer(), 3u);
    EXPECT_EQ(*parse_json("-3", "x").integer(), -3);
    EXPECT_EQ(*parse_json("3.0", "x").fraction(), 3);
    EXPECT_TRUE(parse_json("null", "x").is_null());
}

TEST(JsonParser, RefusesEverythingElse) {
    for (const char* text : {"",         " ",           "{",         "[1,",         "[1,]",        "{\"a\":1,}",
                             "{\"a\"}",  "{a:1}",       "{'a':1}",   "nul",         "NaN",         "[Infinity]",
                             "-",        "[-Infinity]", "01",        "+1",          "1.",          ".5",
                             "1e",       "0x10",        "1 2",       "{} x",        "{}{}",        "[1]]",
                             "\"",       "\"\\x\"",     "\"\\u12\"", "\"\\ud800\"", "\"\\udc00\"", "\"\\ud800\\u0041\"",
                             "\"a\tb\"", "/* c */ 1",   "1 // c",    "1e400",       "-1e400"})
        EXPECT_NE(json_refusal(text).find("invalid JSON at byte "), std::string::npos)
            << text << ": " << json_refusal(text);
    using namespace std::string_view_literals; // a NUL does not end the text
    for (const std::string_view text : {"1\0"sv, "{}\0hidden"sv, "\0{}"sv, "\"\0\""sv, "[\0]"sv, "{} \0"sv})
        EXPECT_NE(json_refusal(text).find("invalid JSON at byte "), std::string::npos) << text;
}

TEST(JsonParser, RefusesByteOrderMarksAndOtherBytes) {
    EXPECT_EQ(json_refusal("\xef\xbb\xbf{}"), "JSON starts with a byte order mark");
    for (const char* text : {"\"\xff\"", "\"\xc0\xaf\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "\"\xe2\x82\"",
                             "{}\x80", "\xff\xfe{\x01"})
        EXPECT_EQ(json_refusal(text), "JSON is not valid UTF-8") << text;
}

TEST(JsonParser, NamesAKeyThatAppearsTwice) {
    EXPECT_EQ(json_refusal(R"({"a": 1, "b": {"x": 1, "\u0078": 2}})"), "key 'x' appears twice");
    EXPECT_EQ(json_refusal("{\"a\\u001b[31m\": 1, \"a\\u001b[31m\": 1}"), "key 'a\\x1b[31m' appears twice");
    EXPECT_EQ(json_refusal(R"([{"a": 1}, {"a": 1}])"), "accepted");
}

// As in Python's json, which reads the files of a directory.
TEST(JsonParser, TakesTheLastOfARepeatedKey) {
    const JsonValue value =
        parse_json(R"({"a": 1, "b": 2, "a": {"c": 3, "c": 4}, "b": 5, "d": 6, "b": 7})", "x", json_config_limits);
    ASSERT_EQ(value.object()->size(), 3U);
    EXPECT_EQ(get_int(get_object(value, "a", "x"), "c", "x", 0, 9), 4);
    EXPECT_EQ(get_int(value, "b", "x", 0, 9), 7);
    EXPECT_EQ(get_int(value, "d", "x", 0, 9), 6);
}

TEST(JsonParser, BoundsDepthAndBytes) {
    const JsonLimits limits{100, 16};
    EXPECT_EQ(json_refusal(nested(16), limits), "accepted");
    EXPECT_EQ(json_refusal(nested(17), limits), "JSON nested deeper than 16");
    EXPECT_EQ(json_refusal(R"({"a":{"a":{"a":1}}})", {100, 2}), "JSON nested deeper than 2");
    EXPECT_EQ(json_refusal(std::string(101, ' '), limits), "JSON of 101 bytes, allowed are 100");
    EXPECT_EQ(json_refusal(std::string(1'000'000, '[')), "JSON nested deeper than 16");
    std::string objects;
    for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
    EXPECT_EQ(json_refusal(objects), "JSON nested deeper than 16");
    // Siblings do not increase the depth.
    EXPECT_EQ(json_refusal("[[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[]]", limits), "accepted");
}

TEST(JsonParser, BoundsTheMemoryOfATree) {
    const auto array = [](std::size_t n, const std::string& item) {
        std::string text = "[" + item;
        for (std::size_t i = 1; i < n; ++i) text += "," + item;
        return text + "]";
    };
    EXPECT_EQ(json_refusal(array(1'000'000, "0")), "accepted"); // 48 MB of 67
    EXPECT_EQ(json_refusal(array(2'500'000, "0")), "JSON that takes too much memory for its size");
    EXPECT_EQ(json_refusal(array(1'000'000, "\"\"")), "JSON that takes too much memory for its size");
    EXPECT_EQ(json_refusal(array(1'000'000, "{}")), "JSON that takes too much memory for its size");
    EXPECT_EQ(json_refusal(array(15, "\"" + std::string(1'000'000, 'x') + "\"")),
              "accepted"); // memory as large as the text
    // 200,000 tokens and 450,000 merges, as in the largest current vocabularies.
    std::string vocabulary = "{\"\":0", merges = "\"a b\"";
    for (int i = 0; i < 200'000; ++i) vocabulary += ",\"token" + std::to_string(i) + "\":" + std::to_string(i);
    for (int i = 0; i < 450'000; ++i) merges += ",\"left right" + std::to_string(i) + "\"";
    EXPECT_EQ(json_refusal("{\"vocab\":" + vocabulary + "},\"merges\":[" + merges + "]}"), "accepted");
}

TEST(JsonParser, LongTokensStayShortInMessages) {
    EXPECT_NE(json_refusal("[" + std::string(1'000'000, '9') + "]"), "accepted");
    EXPECT_NE(json_refusal("[\"" + std::string(1'000'000, 'a')), "accepted");
    EXPECT_NE(json_refusal("{\"" + std::string(1'000'000, 'a') + "\":1,\"" + std::string(1'000'000, 'a') + "\":1}"),
              "accepted");
}

// Strings of 4 KiB and more are not nlohmann's if they are half of the text.
TEST(JsonParser, ReadsLongStringsLikeShortOnes) {
    std::string escaped, meant;
    for (int i = 0; i < 1000; ++i) escaped += R"(\"\\u\/\b\f\n\r\t\\)", meant += "\"\\u/\b\f\n\r\t\\";
    const std::string lone(5000, 'x'),
        start = "{\"" + escaped + "\": [\"a\", \"" + escaped + "\", \"b\", \"" + lone + "\"";
    const auto check = [&](const std::string& also, const std::string& also_meant) {
        const JsonValue value = parse_json(start + ", \"" + also + "\", \"c\", \"" + escaped + "\"], \"d\": 1}", "x");
        const JsonValue::Array& items = get_array(value, meant, "x");
        const std::string expected[] = {"a", meant, "b", lone, also_meant, "c", meant};
        ASSERT_EQ(items.size(), std::size(expected));
        for (std::size_t i = 0; i < items.size(); ++i) EXPECT_EQ(*items[i].string(), expected[i]) << i;
        EXPECT_EQ(get_int(value, "d", "x", 0, 9), 1);
    };
    check("short", "short");
    check(escaped + "y", meant + "y");
    check(lone + R"(\u2665)", lone + "\u2665"); // all of them are nlohmann's
    const auto refused_at = [](const std::string& before, const std::string& after) {
        const std::string refusal = json_refusal(before + after), at = std::to_string(before.size() + 1);
        EXPECT_NE(refusal.find("invalid JSON at byte " + at + ":"), std::string::npos) << refusal << ", not " << at;
    };
    refused_at(start + ",", "]}");
    refused_at(start + ", ", "NaN, \"" + escaped + "\"]}");
    refused_at("[", "} \"" + escaped + "\"]");
    refused_at(start.substr(0, start.size() - 1), "\t\"]}"); // within a string
    for (const char* end : {"\\x", "\\u12", "\\ud800", "\x1b", "\\"})
        EXPECT_NE(json_refusal(start.substr(0, start.size() - 1) + end + "\"]}").find("invalid JSON at byte "),
                  std::string::npos)
            << end;
}

TEST(JsonParser, HandsOutEventsInOrder) {
    struct Log final : JsonEvents {
        void begin_object() override { text += '{'; }
        void key(std::string&& name) override { text += name + ':'; }
        void end_object() override { text += '}'; }
        void begin_array() override { text += '['; }
        void end_array() override { text += ']'; }
        void value(JsonValue&& scalar) override { text += describe(scalar) + ' '; }
        std::string text;
    } log;
    parse_json(R"({"a": [1, "x", null], "a": {}})", "x", json_header_limits, log);
    EXPECT_EQ(log.text, R"({a:[1 "x" null ]a:{}})");
}

TEST(JsonMembers, ComeCheckedOrAreRefusedByName) {
    const JsonValue json = parse_json(
        R"({"i": 5, "n": -5, "f": 2.5, "big": 18446744073709551615, "s": "t\u001b", "b": true, "o": {}, "a": [], "z": 3.0})",
        "x");
    EXPECT_EQ(get_int(json, "i", "w", 0, 5), 5);
    EXPECT_EQ(get_int(json, "n", "w", -5, 0), -5);
    EXPECT_EQ(get_number(json, "f", "w", 0, 3), 2.5);
    EXPECT_EQ(get_number(json, "i", "w", 0, 5), 5.0);
    EXPECT_EQ(get_string(json, "s", "w"), "t\x1b");
    EXPECT_TRUE(get_bool(json, "b", "w"));
    EXPECT_TRUE(get_object(json, "o", "w").object()->empty());
    EXPECT_TRUE(get_array(json, "a", "w").empty());
    EXPECT_EQ(find_member(json, "none"), nullptr);
    EXPECT_EQ(find_member(JsonValue(true), "none"), nullptr);

    EXPECT_EQ(message([&] { get_int(json, "none", "w", 0, 5); }), "w: 'none' is missing");
    EXPECT_EQ(message([&] { get_int(get_member(json, "a", "w"), "i", "w", 0, 5); }),
              "w: expected an object, found an array");
    EXPECT_EQ(message([&] { get_int(json, "i", "w", 0, 4); }), "w: 'i': expected an integer from 0 to 4, found 5");
    EXPECT_EQ(message([&] { get_int(json, "n", "w", -4, 4); }), "w: 'n': expected an integer from -4 to 4, found -5");
    EXPECT_EQ(message([&] { get_int(json, "z", "w", 0, 4); }), "w: 'z': expected an integer from 0 to 4, found 3.0");
    EXPECT_EQ(message([&] { get_int(json, "big", "w", -1, 4); }),
              "w: 'big': expected an integer from -1 to 4, found 18446744073709551615");
    EXPECT_EQ(message([&] { get_int(json, "s", "w", 0, 4); }),
              "w: 's': expected an integer from 0 to 4, found \"t\\x1b\"");
    EXPECT_EQ(message([&] { get_number(json, "f", "w", 0, 0.25); }),
              "w: 'f': expected a number from 0 to 0.25, found 2.5");
    EXPECT_EQ(message([&] { get_number(json, "b", "w", 0, std::numeric_limits<double>::infinity()); }),
              "w: 'b': expected a number from 0 to inf, found true");
    EXPECT_EQ(message([&] { get_bool(json, "i", "w"); }), "w: 'i': expected true or false, found 5");
    EXPECT_EQ(message([&] { get_string(json, "o", "w"); }), "w: 'o': expected a string, found an object");
    EXPECT_EQ(message([&] { get_array(json, "o", "w"); }), "w: 'o': expected an array, found an object");
    EXPECT_EQ(message([&] { get_object(json, "a", "w"); }), "w: 'a': expected an object, found an array");
    EXPECT_EQ(message([&] {
                  check_keys(json, "w", {"i", "n", "f", "big", "s", "b", "o", "a"});
              }),
              "w: unknown key 'z'");
    EXPECT_EQ(message([&] {
                  check_keys(json, "w", {"i", "n", "f", "big", "s", "b", "o", "a", "z", "y"});
              }),
              "accepted");
}

// ---- Writing --------------------------------------------------------------------------------

// nlohmann's writer is the reference. Ordo's writer prints values that its own reader has read.
TEST(JsonWriting, IsWhatAnotherWriterMakesOfIt) {
    for (const char* text : {"[]", "{}", "[[],{}]", R"({"b":1,"a":[1,-2,0.5,null,true,false],"c":{"d":{}}})", "\"\"",
                             "-9223372036854775808", "18446744073709551615", "[0.0,-0.0,1e-7,123456.5,0.1]",
                             R"(["\"\\\b\f\n\r\t/","\u0000\u001f\u007f","é😀"])"})
        for (const int indent : {-1, 0, 1, 4})
            EXPECT_EQ(written(parse_json(text, "x"), indent), nlohmann::ordered_json::parse(text).dump(indent)) << text;
}

TEST(JsonWriting, DoublesReadBackAndWhatIsNoNumberIsNull) {
    for (const double number : {0.1, 1e300, 5e-324, 123456789.0, 1e20, -1.0 / 3}) {
        JsonWriter writer;
        writer.value(number);
        const Json back = Json::parse(writer.take());
        EXPECT_TRUE(back.is_number_float());
        EXPECT_EQ(back.get<double>(), number);
    }
    JsonWriter writer;
    writer.value(std::vector<double>{NAN, INFINITY, -INFINITY});
    EXPECT_EQ(writer.take(), "[null,null,null]");
}

TEST(JsonWriting, AnyBytesAreText) {
    EXPECT_EQ(json_quoted("\u0085\u009b\u00a0"),
              "\"\\u0085\\u009b\u00a0\""); // no terminal controls remain
    EXPECT_EQ(json_quoted("a\xff\xc3z\xc3\xa9"), "\"a\xef\xbf\xbd\xef\xbf\xbdz\xc3\xa9\"");
    for (int byte = 0; byte < 256; ++byte) {
        const std::string text(1, static_cast<char>(byte));
        EXPECT_EQ(json_quoted(text), Json(text).dump(-1, ' ', false, Json::error_handler_t::replace));
    }
}

TEST(JsonWriting, MayBeTakenInParts) {
    JsonWriter writer(1);
    std::string text;
    writer.begin_object();
    for (const char* key : {"a", "b"}) {
        writer.member(key, std::vector<int>{1, 2});
        text += writer.take();
    }
    writer.key("none");
    text += writer.take();
    writer.null();
    writer.end_object();
    text += writer.take();
    EXPECT_EQ(text, nlohmann::ordered_json::parse(R"({"a":[1,2],"b":[1,2],"none":null})").dump(1));
}

} // namespace
