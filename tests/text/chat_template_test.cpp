// SPDX-License-Identifier: MIT
// The expected texts are those of Python's jinja2 with transformers' settings: tests/text/chat/reference.py. Published
// templates belong to their models; with $ORDO_CHAT_CASES, a file that reference.py wrote of them is tested too.
#include "core/error.h"
#include "tests/json.h"
#include "tests/temp_dir.h"
#include "text/chat_template.h"

#include <cstdlib>
#include <gtest/gtest.h>

namespace ordo {
namespace {

using test::Json;

const ChatMessage hi{"user", "Hi"}, hello{"assistant", "Hello"}, bye{"user", "Bye"};
using Tokens = std::map<std::string, std::string>;

std::time_t noon_of_26_july_2024() {
    std::tm day{};
    day.tm_year = 124, day.tm_mon = 6, day.tm_mday = 26, day.tm_hour = 12, day.tm_isdst = -1;
    return std::mktime(&day);
}

std::string written(const std::string& text, const std::vector<ChatMessage>& messages = {hi}, bool answer = true) {
    const Tokens tokens{{"bos_token", "<s>"}, {"eos_token", "</s>"}};
    return ChatTemplate(text, tokens, "test").write(messages, answer, noon_of_26_july_2024());
}

// The error of a template; empty if there is none.
std::string refusal(const std::string& text, ErrorCode code = ErrorCode::model) {
    try {
        written(text);
    } catch (const Error& error) {
        EXPECT_EQ(error.code, code) << error.what();
        const std::string said = error.what();
        EXPECT_EQ(said.find('\n'), said.npos) << said;
        EXPECT_LT(said.size(), 400u) << said;
        return said;
    }
    return {};
}

// Returns the templates that are refused although the reference writes them, with the reasons.
std::map<std::string, std::string> expect_as_the_reference(const std::filesystem::path& file) {
    std::map<std::string, std::string> refused;
    const Json all = Json::parse(test::file_content(file));
    EXPECT_FALSE(all.empty());
    for (const auto& [name, of] : all.items())
        for (const Json& each : of["cases"]) {
            SCOPED_TRACE(name + ", " + each.dump().substr(0, 300));
            std::vector<ChatMessage> messages;
            for (const Json& turn : each["messages"]) messages.push_back({turn[0], turn[1]});
            std::string text, error;
            try {
                const ChatTemplate chat(of["template"], of["tokens"].get<Tokens>(), "test");
                text = chat.write(messages, each["answer"], noon_of_26_july_2024());
            } catch (const Error& of_template) {
                error = of_template.what();
            }
            if (!error.empty() && each.contains("text"))
                refused[name] = error;
            else
                EXPECT_EQ(text, each.value("text", std::string()));
            EXPECT_TRUE(!error.empty() || each.contains("text"));
        }
    return refused;
}

TEST(ChatTemplate, WritesWhatTheReferenceWrites) {
    EXPECT_EQ(expect_as_the_reference("tests/text/chat/cases.json").size(), 0u);
}

TEST(ChatTemplate, WritesPublishedTemplatesAsTheReference) {
    const char* const file = std::getenv("ORDO_CHAT_CASES");
    if (file == nullptr) GTEST_SKIP() << "tests/text/chat/README.md says how to make the file for $ORDO_CHAT_CASES";
    for (const auto& [name, why] : expect_as_the_reference(file))
        std::cerr << "refused: " << name << ": " << why << '\n';
}

TEST(ChatTemplate, TokensAreTheModels) {
    const std::string text = "{{ bos_token }}{{ messages[0].content }}{{ eos_token }}{{ pad_token }}";
    EXPECT_EQ(ChatTemplate(text, {{"bos_token", "<|endoftext|>"}}, "test").write(std::vector{hi}), "<|endoftext|>Hi");
}

TEST(ChatTemplate, RefusesByNameAndLine) {
    EXPECT_EQ(refusal("a\n{{ x | urlize }}"),
              "test: chat template: line 2: the filter 'urlize' is not supported for 'x', "
              "which is undefined");
    EXPECT_EQ(refusal("\n\n{% include 'x' %}"), "test: chat template: line 3: the tag 'include' is not supported");
    EXPECT_NE(refusal("{{ 'a'.zfill(3) }}").find("the method 'zfill'"), std::string::npos);
    EXPECT_NE(refusal("{{ messages is undeclared }}").find("the test 'undeclared'"), std::string::npos);
    EXPECT_NE(refusal("{{ lipsum(3) }}").find("the function 'lipsum'"), std::string::npos);
    EXPECT_NE(refusal("{{ [1] | tojson(sort_keys=true) }}").find("the argument 'sort_keys'"), std::string::npos);
    EXPECT_NE(refusal("{{ 'aa' | replace('a') }}").find("expected an argument 'new'"), std::string::npos);
    EXPECT_NE(refusal("{{ nothing + 'a' }}").find("'nothing', which is undefined"), std::string::npos);
    EXPECT_NE(refusal("{{ nothing.at.all }}").find("'nothing', which is undefined"), std::string::npos);
    EXPECT_NE(refusal("{% if true %}").find("expected endif, found the end"), std::string::npos);
    EXPECT_NE(refusal("{{ 'a' ").find("line 1: expected the end of a tag"), std::string::npos);
    EXPECT_NE(refusal("{{ 'a }}").find("line 1: expected an expression"), std::string::npos);
    EXPECT_NE(refusal("{{ 1 + }}").find("expected a value, found '}}'"), std::string::npos);
    // An unknown part in a branch that is not reached does no harm.
    EXPECT_EQ(written("{% if tools %}{{ tools | xmlattr }}{% endif %}a"), "a");
}

TEST(ChatTemplate, ATemplateRefusesMessages) {
    EXPECT_EQ(refusal("{{ raise_exception('By turns,\nplease') }}", ErrorCode::usage),
              "test: the chat template refuses these messages: By turns,\\x0aplease");
}

// Each would take years, or all of the memory.
TEST(ChatTemplate, IsBounded) {
    const std::string doubling = "{% set ns = namespace(x='aaaaaaaa') %}{% for i in range(99) %}"
                                 "{% set ns.x = ns.x + ns.x %}{% endfor %}";
    std::string loops = "x", chain = "{{ 1";
    for (int i = 0; i < 9; ++i) loops = "{% for i in range(999) %}" + loops + "{% endfor %}";
    for (int i = 0; i < 100'000; ++i) chain += "+1";
    EXPECT_NE(refusal(doubling).find("too much work"), std::string::npos);
    EXPECT_NE(refusal(loops).find("too much work"), std::string::npos);
    EXPECT_NE(refusal("{{ range(9999999999) }}").find("too much work"), std::string::npos);
    EXPECT_NE(refusal("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}").find("nested"), std::string::npos);
    EXPECT_NE(refusal("{{ " + std::string(100'000, '(')).find("nested"), std::string::npos);
    EXPECT_NE(refusal("{{ " + std::string(100'000, '-') + "1 }}").find("nested"), std::string::npos);
    EXPECT_NE(refusal(chain + " }}").find("operators in turn"), std::string::npos);
    std::string many;
    while (many.size() < 2'000'000) many += "{{ a }}";
    EXPECT_NE(refusal(many).find("expressions and tags"), std::string::npos);
    // A namespace that holds itself.
    EXPECT_NE(refusal("{% set n = namespace() %}{% set n.n = n %}{{ [n] | tojson }}").find("nested"),
              std::string::npos);
}

TEST(ChatTemplate, TimeGrowsWithTheTextAlone) {
    const auto many = [](std::string_view part) {
        std::string text;
        while (text.size() < 4'000'000) text += part;
        return text;
    };
    EXPECT_EQ(written(many("{ ")).size(), 4'000'000u);
    EXPECT_EQ(written("a{# " + many("{#") + "#}"), "a");
    EXPECT_NE(refusal("{{ '" + many("\\'")).find("expected an expression"), std::string::npos);
    EXPECT_EQ(written("{{ messages[0].content.strip() }}", {{"user", many(" ")}}), "");
    EXPECT_EQ(written("{{ messages[0].content.split('<|')|length }}", {{"user", many("<|").substr(0, 1'000'000)}}),
              "500001");
}

TEST(ChatTemplate, FindsTheEndOfAnAnswer) {
    const auto end = [](const std::string& text) {
        return ChatTemplate(text, {{"bos_token", "<s>"}, {"eos_token", "<|endoftext|>"}}, "test").end_of_answer();
    };
    const auto turns = [](const std::string& user, const std::string& answer, const std::string& more = "") {
        return "{% for m in messages %}{% if m.role == 'user' %}" + user + "{% else %}" + answer + "{% endif %}" +
               more + "{% endfor %}";
    };
    EXPECT_EQ(end(turns("<|im_start|>user\n{{ m.content }}<|im_end|>\n",
                        "<|im_start|>assistant\n{{ m.content }}<|im_end|>\n")),
              "<|im_end|>");
    EXPECT_EQ(end(turns("<|user|>\n{{ m.content + eos_token }}\n", "<|assistant|>\n{{ m.content + eos_token }}\n")),
              "<|endoftext|>");
    EXPECT_EQ(end(turns("<s>[INST] {{ m.content }} [/INST]", " {{ m.content }} </s>")), "</s>");
    EXPECT_EQ(end(turns("<|user|>\n{{ m.content }}", "<|assistant|>\n{{ m.content }}")), "<|user|>"); // GLM
    EXPECT_EQ(end(turns("### Instruction:\n{{ m.content }}\n\n", "### Response:\n{{ m.content }}\n\n")),
              "### Instruction:");
    EXPECT_EQ(end(turns("<|user|>{{ m.content }}<|end|>", "<|assistant|>{{ m.content }}<|end|>") + "{{ eos_token }}"),
              "<|end|>"); // Phi-4-mini-reasoning
    EXPECT_EQ(end("{{ raise_exception('never') }}"), "");
    EXPECT_EQ(end("{{ messages[0].content }}"), "");
}

} // namespace
} // namespace ordo
