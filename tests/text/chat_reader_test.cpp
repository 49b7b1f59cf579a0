// SPDX-License-Identifier: MIT
// Templates with their own variants of a form. The expected texts come from a Jinja interpreter (@huggingface/jinja
// 0.5). The templates are published ones, shortened to the relevant parts.
#include "text/chat_template.h"

#include <ctime>
#include <gtest/gtest.h>

namespace ordo {
namespace {

const ChatMessage system_message{"system", " Be brief. "}, hi{"user", " Hi "}, hello{"assistant", " Hello "},
    bye{"user", "Bye"};

std::string written(std::string_view text, const std::vector<ChatMessage>& messages) {
    return write_chat(read_chat(text, "test"), messages);
}

const std::string chatml =
    R"({% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>' +
'\n' }}{% endfor %})";

// Qwen 3 Thinking and QwQ, and Qwen 3, which thinks by default.
TEST(ChatReader, AnAnswerBeginsAsTheTemplateBeginsIt) {
    EXPECT_EQ(
        written(chatml + R"({% if add_generation_prompt %}{{ '<|im_start|>assistant\n<think>\n' }}{% endif %})", {hi}),
        "<|im_start|>user\n Hi <|im_end|>\n<|im_start|>assistant\n<think>\n");
    EXPECT_EQ(written(chatml + R"({% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% if enable_thinking is
defined and enable_thinking is false %}{{ '<think>\n\n</think>\n\n' }}{% endif %}{% endif %})",
                      {hi}),
              "<|im_start|>user\n Hi <|im_end|>\n<|im_start|>assistant\n");
}

TEST(ChatReader, EarlierThoughtsAreLeftOutWhereTheTemplateDoes) {
    const std::vector<ChatMessage> talk{hi, {"assistant", "<think>\nHm.\n</think>\n\nHello"}, bye};
    EXPECT_EQ(written(R"({% for m in messages %}{% set text = m.content %}{% if m.role == 'assistant' and '</think>' in
text %}{% set text = text.split('</think>')[-1].lstrip('\n') %}{% endif %}{{ '<|im_start|>' + m.role + '\n' + text +
'<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %})",
                      talk),
              "<|im_start|>user\n Hi <|im_end|>\n<|im_start|>assistant\nHello<|im_end|>\n<|im_start|>user\nBye"
              "<|im_end|>\n<|im_start|>assistant\n");
    EXPECT_NE(written(chatml, talk).find("Hm."), std::string::npos); // this template does not remove thoughts
}

// The template of Phi-3-medium knows only the user and the assistant, and drops other messages.
TEST(ChatReader, ASystemMessageIsDroppedWhereTheTemplateDrops) {
    constexpr std::string_view medium = R"({% for m in messages %}{% if (m['role'] == 'user') %}{{ '<|user|>' + '\n' +
m['content'] + '<|end|>' + '\n' + '<|assistant|>' + '\n' }}{% elif (m['role'] == 'assistant') %}{{ m['content'] +
'<|end|>' + '\n' }}{% endif %}{% endfor %})";
    EXPECT_EQ(written(medium, {system_message, hi, hello, bye}),
              "<|user|>\n Hi <|end|>\n<|assistant|>\n Hello <|end|>\n<|user|>\nBye<|end|>\n<|assistant|>\n");
    EXPECT_EQ(read_chat(medium, "test").system, ChatTemplate::System::dropped);
    EXPECT_EQ(read_chat(chatml, "test").system, ChatTemplate::System::written);
}

// Mistral 7B v0.2's first template and Gemma's template raise an exception.
TEST(ChatReader, ASystemMessageIsRefusedWhereTheTemplateRefuses) {
    constexpr std::string_view mistral = R"({{ bos_token }}{% for m in messages %}{% if (m['role'] == 'user') !=
(loop.index0 % 2 == 0) %}{{ raise_exception('By turns.') }}{% endif %}{% if m['role'] == 'user' %}{{ '[INST] ' +
m['content'] + ' [/INST]' }}{% else %}{{ m['content'] + eos_token }}{% endif %}{% endfor %})";
    EXPECT_EQ(written(mistral, {hi, hello, bye}), "[INST]  Hi  [/INST] Hello </s>[INST] Bye [/INST]");
    EXPECT_THROW(written(mistral, {system_message, hi}), Error);
    EXPECT_THROW(written(R"({% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}
{% endif %}<start_of_turn><end_of_turn>)",
                         {system_message, hi}),
                 Error);
}

TEST(ChatReader, MistralsSpacesAreTheTemplates) {
    constexpr std::string_view v1 = R"({% if messages[0]['role'] == 'system' %}{% set system_message =
messages[0]['content'] %}{% set rest = messages[1:] %}{% else %}{% set rest = messages %}{% endif %}{{ bos_token
}}{% for m in rest %}{% if m['role'] == 'user' %}{% if loop.first and system_message is defined %}{{ ' [INST] ' +
system_message + '\n\n' + m['content'] + ' [/INST]' }}{% else
%}{{ ' [INST] ' + m['content'] + ' [/INST]' }}{% endif %}{% else %}{{ ' ' +
m['content'] + eos_token }}{% endif %}{% endfor %})";
    EXPECT_EQ(written(v1, {system_message, hi, hello, bye}),
              " [INST]  Be brief. \n\n Hi  [/INST]  Hello </s> [INST] Bye [/INST]");
    constexpr std::string_view v3 = R"({% if messages[0]["role"] == "system" %}{% set system_message =
messages[0]["content"] %}{% set rest = messages[1:] %}{% else %}{% set rest = messages %}{% endif %}{{ bos_token
}}{% for m in rest %}{% if m["role"] == "user" %}{% if loop.last and system_message is defined %}{{ "[INST] " +
system_message +
"\n\n" + m["content"] + "[/INST]" }}{% else %}{{ "[INST] " + m["content"] + "[/INST]" }}{% endif %}{% else %}{{ " " +
m["content"]|trim + eos_token }}{% endif %}{% endfor %})";
    EXPECT_EQ(written(v3, {system_message, hi, hello, bye}),
              "[INST]  Hi [/INST] Hello</s>[INST]  Be brief. \n\nBye[/INST]");
}

// The interpreter had no token for the beginning of a text. Before the first turn the tokenizer's own token stands
// there.
TEST(ChatReader, LlamasTurnsBeginAsATextDoesWhereTheTemplateSaysSo) {
    const auto talk = [](const std::string& begin) {
        return written("{% for m in messages %}{% if m['role'] == 'user' %}{{ " + begin +
                           R"('[INST] ' + m['content'].strip() + ' [/INST]' }}{% else %}{{ ' '  + m['content'].strip() +
' ' + eos_token }}{% endif %}{% endfor %}{# <<SYS>> system #})",
                       {hi, hello, bye});
    };
    EXPECT_EQ(talk("bos_token + "), "[INST] Hi [/INST] Hello </s><s>[INST] Bye [/INST]");
    EXPECT_EQ(talk(""), "[INST] Hi [/INST] Hello </s>[INST] Bye [/INST]");
}

// Uses the template's own date, so that a text can be reproduced.
TEST(ChatReader, LlamasHeaderHasTheTemplatesDate) {
    const std::string dated = R"({% if strftime_now is defined %}{% set date_string = strftime_now("%d %b %Y") %}{% else
%}{% set date_string = "26 Jul 2024" %}{% endif %}{% set system_message = "" %}{{
"<|start_header_id|>system<|end_header_id|>\n\n" }}{{ "Cutting Knowledge Date: December 2023\n" }}{{ "Today Date: " +
date_string + "\n\n" }}{{ system_message }}{{ "<|eot_id|>" }}{% for m in rest %}{{ '<|start_header_id|>' + m['role'] +
'<|end_header_id|>\n\n'+ m['content'] | trim + '<|eot_id|>' }}{% endfor %}{% if add_generation_prompt %}{{
'<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %})";
    const std::string head = "<|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: December 2023\n"
                             "Today Date: 26 Jul 2024\n\n";
    const std::string rest = "<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|><|start_header_id|>"
                             "assistant<|end_header_id|>\n\n";
    EXPECT_EQ(written(dated, {hi}), head + rest);
    EXPECT_EQ(written(dated, {system_message, hi}), head + "Be brief." + rest);
    EXPECT_FALSE(default_system(read_chat(dated, "test"), dated).unread);
}

TEST(ChatReader, GemmasSystemTextStandsBeforeTheFirstUsersAsItIs) {
    EXPECT_EQ(written(R"({% if messages[0]['role'] == 'system' %}{% set prefix = messages[0]['content'] + '\n\n' %}{%
set rest = messages[1:] %}{% endif %}{% for m in rest %}{% set role = m['role'] %}{{ '<start_of_turn>' + role + '\n' +
(prefix if loop.first else '') }}{{ m['content'] | trim }}{{ '<end_of_turn>\n' }}{% endfor %}{% if add_generation_prompt
%}{{ '<start_of_turn>model\n' }}{% endif %})",
                      {system_message, hi, hello, bye}),
              "<start_of_turn>user\n Be brief. \n\nHi<end_of_turn>\n<start_of_turn>model\nHello<end_of_turn>\n"
              "<start_of_turn>user\nBye<end_of_turn>\n<start_of_turn>model\n");
}

TEST(ChatReader, ARefusalNamesTheNearestForm) {
    const auto refusal = [](std::string_view text) {
        try {
            read_chat(text, "model");
        } catch (const Error& error) {
            EXPECT_EQ(error.code, ErrorCode::model);
            return std::string(error.what());
        }
        return std::string();
    };
    // of GLM Edge and of Vicuna
    EXPECT_NE(refusal("<|system|>\n{{ c }}<|user|>\n{{ c }}<|assistant|>\n{{ c }}")
                  .find("is not supported: it is nearest to Phi 3, but lacks '<|end|>'"),
              std::string::npos);
    EXPECT_NE(refusal("{{ 'USER: ' + m.content }}").find("it has no mark of a form that is known: ChatML, Llama 2"),
              std::string::npos);
}

// Each mark begins a literal that never ends.
TEST(ChatReader, TakesLinearTime) {
    std::string text = "add_generation_prompt";
    while (text.size() < (std::size_t{4} << 20)) text += "\\'<|im_start|>assistant ";
    EXPECT_EQ(read_chat(text, "test").opening, "");
    text = "<|im_start|>";
    while (text.size() < (std::size_t{4} << 20)) text += "{{ '";
    EXPECT_FALSE(read_chat(text, "test").marked);
}

// Mistral Small 3's template contains today's date. Python, and so Jinja, drops a line end after a backslash.
TEST(ChatReader, MistralsDefaultSystemPromptIsTheTemplates) {
    const std::string_view text = R"jinja({%- set today = strftime_now("%Y-%m-%d") %}
{%- set default_system_message = "You are Mistral Small 3.\nThe current date is " + today + ".\n\
Ask (e.g. \"Where are you?\" => \"Paris\")" %}
{{- bos_token }}{%- if messages[0]['role'] == 'system' %}{%- set system_message = messages[0]['content'] %}
{%- else %}{%- set system_message = default_system_message %}{%- endif %}
{{- '[SYSTEM_PROMPT]' + system_message + '[/SYSTEM_PROMPT]' }}{{- '[INST]' + message['content'] + '[/INST]' }})jinja";
    const auto found = [](std::string_view of) { return default_system(read_chat(of, "test"), of); };
    const auto expected = [] {
        const std::time_t now = std::time(nullptr);
        std::tm day{};
        localtime_r(&now, &day);
        const auto two = [](int n) { return (n < 10 ? "0" : "") + std::to_string(n); };
        return "You are Mistral Small 3.\nThe current date is " + std::to_string(1900 + day.tm_year) + "-" +
               two(day.tm_mon + 1) + "-" + two(day.tm_mday) + ".\nAsk (e.g. \"Where are you?\" => \"Paris\")";
    };
    const std::string before = expected();
    const DefaultSystem system = found(text);
    EXPECT_TRUE(system.text == before || system.text == expected()) << system.text; // in case midnight passes
    EXPECT_FALSE(system.unread);

    // A prompt that needs more than reading is marked as unread: another source of the date, a filter, an unused
    // prompt.
    for (const auto& [from, to] : {std::pair("strftime_now(\"%Y-%m-%d\")", "yesterday()"),
                                   {" + today + ", " + today | upper + "},
                                   {"%Y-%m-%d", "%E"},
                                   {"= default_system_message %}", "= other %}"}}) {
        std::string other(text);
        other.replace(other.find(from), std::string_view(from).size(), to);
        EXPECT_EQ(found(other).text, "") << to;
        EXPECT_TRUE(found(other).unread) << to;
    }
}

} // namespace
} // namespace ordo
