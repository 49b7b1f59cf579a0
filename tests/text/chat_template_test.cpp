// SPDX-License-Identifier: MIT
// Conversations as the publishers print them: the model cards of Llama 2, Llama 3, Gemma, Phi-3, Mistral and Zephyr,
// and the ChatML document. Phi-4 and Mistral's versions follow their own templates.
#include "core/error.h"
#include "text/chat_expressions.h"
#include "text/chat_template.h"

#include <gtest/gtest.h>

#include <vector>

namespace ordo {
namespace {

const std::vector<ChatMessage> talk = {
    {"system", "Be brief."}, {"user", "Hi"}, {"assistant", "Hello"}, {"user", "Bye"}};

TEST(ChatTemplate, WritesTheKnownForms) {
    EXPECT_EQ(write_chat(ChatForm::chatml, talk),
              "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
              "<|im_start|>assistant\nHello<|im_end|>\n<|im_start|>user\nBye<|im_end|>\n<|im_start|>assistant\n");
    EXPECT_EQ(write_chat(ChatForm::llama3, talk), "<|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|>"
                                                  "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
                                                  "<|start_header_id|>assistant<|end_header_id|>\n\nHello<|eot_id|>"
                                                  "<|start_header_id|>user<|end_header_id|>\n\nBye<|eot_id|>"
                                                  "<|start_header_id|>assistant<|end_header_id|>\n\n");
    EXPECT_EQ(write_chat(ChatForm::llama2, talk), "[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\nHi [/INST] Hello </s>"
                                                  "<s>[INST] Bye [/INST]");
    EXPECT_EQ(write_chat(ChatForm::mistral, talk), "[INST] Be brief.\n\nHi [/INST] Hello</s>[INST] Bye [/INST]");
    EXPECT_EQ(write_chat(ChatForm::gemma, talk),
              "<start_of_turn>user\nBe brief.\n\nHi<end_of_turn>\n<start_of_turn>model\nHello<end_of_turn>\n"
              "<start_of_turn>user\nBye<end_of_turn>\n<start_of_turn>model\n");
    EXPECT_EQ(write_chat(ChatForm::phi3, talk), "<|system|>\nBe brief.<|end|>\n<|user|>\nHi<|end|>\n"
                                                "<|assistant|>\nHello<|end|>\n<|user|>\nBye<|end|>\n<|assistant|>\n");
    EXPECT_EQ(write_chat(ChatForm::zephyr, talk), "<|system|>\nBe brief.</s>\n<|user|>\nHi</s>\n"
                                                  "<|assistant|>\nHello</s>\n<|user|>\nBye</s>\n<|assistant|>\n");
    EXPECT_EQ(write_chat(ChatForm::phi4, talk),
              "<|im_start|>system<|im_sep|>Be brief.<|im_end|><|im_start|>user<|im_sep|>Hi<|im_end|>"
              "<|im_start|>assistant<|im_sep|>Hello<|im_end|><|im_start|>user<|im_sep|>Bye<|im_end|>"
              "<|im_start|>assistant<|im_sep|>");
    EXPECT_EQ(write_chat(ChatForm::phi4_mini, talk), "<|system|>Be brief.<|end|><|user|>Hi<|end|><|assistant|>Hello"
                                                     "<|end|><|user|>Bye<|end|><|assistant|>");
    EXPECT_EQ(write_chat(ChatForm::chatml, std::vector<ChatMessage>{{"user", "Hi"}}, false),
              "<|im_start|>user\nHi<|im_end|>\n");
}

// From v3 on the system's text is in the last message, as the templates say with "loop.last". From v7 on it stands
// alone.
TEST(ChatTemplate, WritesMistralsVersions) {
    EXPECT_EQ(write_chat(ChatForm::mistral_v3, talk), "[INST] Hi[/INST] Hello</s>[INST] Be brief.\n\nBye[/INST]");
    EXPECT_EQ(write_chat(ChatForm::mistral_nemo, talk), "[INST]Hi[/INST]Hello</s>[INST]Be brief.\n\nBye[/INST]");
    EXPECT_EQ(write_chat(ChatForm::mistral_v7, talk),
              "[SYSTEM_PROMPT] Be brief.[/SYSTEM_PROMPT][INST] Hi[/INST] Hello</s>[INST] Bye[/INST]");
    EXPECT_EQ(write_chat(ChatForm::mistral_small3, talk),
              "[SYSTEM_PROMPT]Be brief.[/SYSTEM_PROMPT][INST]Hi[/INST]Hello</s>[INST]Bye[/INST]");
}

// The ends of answers in the texts above.
TEST(ChatTemplate, AMessageEndsAsItIsWritten) {
    for (const ChatForm form :
         {ChatForm::chatml, ChatForm::llama2, ChatForm::llama3, ChatForm::gemma, ChatForm::phi3, ChatForm::phi4,
          ChatForm::phi4_mini, ChatForm::mistral, ChatForm::mistral_v3, ChatForm::mistral_nemo, ChatForm::mistral_v7,
          ChatForm::mistral_small3, ChatForm::zephyr}) {
        const std::string text =
            write_chat(form, std::vector<ChatMessage>{{"user", "Hi"}, {"assistant", "Hello"}}, false);
        const std::size_t answer = text.find("Hello");
        EXPECT_NE(text.find(end_of_message(form), answer), std::string::npos) << text;
        EXPECT_LE(text.find(end_of_message(form), answer), answer + 6) << text;
    }
}

TEST(ChatTemplate, RecognisesThemByWhatTheyAre) {
    const auto form = [](std::string_view text) { return recognise_chat(text, "test"); };
    EXPECT_EQ(form("{% for m in messages %}{{'<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>'}}"),
              ChatForm::chatml);
    EXPECT_EQ(form("{{ '<|start_header_id|>' + m['role'] + '<|end_header_id|>\\n\\n' }}"), ChatForm::llama3);
    EXPECT_EQ(form("{{ bos_token + '[INST] ' + '<<SYS>>\\n' + s + '\\n<</SYS>>' + ' [/INST]' }}"), ChatForm::llama2);
    EXPECT_EQ(form("{{ '[INST] ' + m['content'] + ' [/INST]' }}"), ChatForm::mistral);
    EXPECT_EQ(form("{{ '<start_of_turn>' + role + '\\n' + '<end_of_turn>' }}"), ChatForm::gemma);
    EXPECT_EQ(form("{{ '<|user|>\\n' + m['content'] + '<|end|>\\n<|assistant|>' }}"), ChatForm::phi3);
    EXPECT_EQ(form("{{ '<|user|>\\n' + m['content'] + eos_token }} {{ '<|assistant|>' }}"), ChatForm::zephyr);
}

// Forms that share marks with an older form but differ in the text between them.
TEST(ChatTemplate, TellsLookalikesApart) {
    const auto form = [](std::string_view text) { return recognise_chat(text, "test"); };
    EXPECT_EQ(form("{{'<|im_start|>user<|im_sep|>' + m['content'] + '<|im_end|><|im_start|>assistant<|im_sep|>'}}"),
              ChatForm::phi4);
    EXPECT_EQ(form("{{ '<|' + m['role'] + '|>' + m['content'] + '<|end|>' }}{{ '<|assistant|>' }}"),
              ChatForm::phi4_mini);
    EXPECT_EQ(form("{{'<|user|>' + '\\n' + m['content'] + '<|end|>' + '\\n' + '<|assistant|>' + '\\n'}}"),
              ChatForm::phi3);
    EXPECT_EQ(form("{{'<|user|>\n' + m['content'] + '<|end|>\n'}}{{'<|assistant|>\n'}}"), ChatForm::phi3);
    EXPECT_EQ(form("{{ \"[INST] \" + m[\"content\"] + \"[/INST]\" }}"), ChatForm::mistral_v3);
    EXPECT_EQ(form("{{ \"[INST]\" + m[\"content\"] + \"[/INST]\" }}"), ChatForm::mistral_nemo);
    EXPECT_EQ(form("{{ '[SYSTEM_PROMPT] ' + s + '[/SYSTEM_PROMPT]' }}{{ '[INST] ' + m['content'] + '[/INST]' }}"),
              ChatForm::mistral_v7);
    EXPECT_EQ(form("{{ '[SYSTEM_PROMPT]' + s + '[/SYSTEM_PROMPT]' }}{{ '[INST]' + m['content'] + '[/INST]' }}"),
              ChatForm::mistral_small3);
}

TEST(ChatTemplate, ReadsASystemPromptOfItsOwn) {
    const auto own = [](std::string_view text) { return default_system(recognise_chat(text, "test"), text); };
    // The prompts of SmolLM2 and Qwen 2.5, with the line feed as a character or an escape.
    const std::string rest = "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}";
    const std::string smollm = "{% if loop.first and messages[0]['role'] != 'system' %}"
                               "{{ '<|im_start|>system\nYou are SmolLM.<|im_end|>\n' }}{% endif %}";
    EXPECT_EQ(own(smollm + rest).text, "You are SmolLM.");
    EXPECT_FALSE(own(smollm + rest).unread);
    const std::string given = "{{- '<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>\\n' }}";
    const std::string qwen = given + "{{- '<|im_start|>system\\nYou are Qwen.<|im_end|>\\n' }}";
    EXPECT_EQ(own(qwen + rest).text, "You are Qwen.");
    EXPECT_FALSE(own(qwen + rest).unread);
    EXPECT_EQ(own(given + rest).text, ""); // Qwen 3 has none
    EXPECT_FALSE(own(given + rest).unread);
    EXPECT_EQ(own("{{'<|im_start|>system<|im_sep|>You are Phi.<|im_end|>'}}").text, "You are Phi.");
    // A prompt that needs tools is dropped, and a prompt for conversations without tools is kept.
    const std::string tools = "{%- if tools %}{{ '<|im_start|>system\nTools.<|im_end|>\n' }}";
    EXPECT_EQ(own(tools + "{% endif %}" + rest).text, "");
    EXPECT_FALSE(own(tools + "{% endif %}" + rest).unread);
    EXPECT_EQ(own(tools +
                  "{%- else %}{%- if messages[0].role != 'system' %}{{ '<|im_start|>system\nNone.<|im_end|>' }}"
                  "{% endif %}{% endif %}" +
                  rest)
                  .text,
              "None.");
    const std::string thinking = "{% if enable_thinking %}{{ '<|im_start|>system\nThink.<|im_end|>' }}{% endif %}";
    // Two prompts, a prompt under another condition, a composed prompt, a prompt in a variable, and a prompt with
    // today's date.
    for (const std::string& text :
         {smollm + qwen, thinking + rest, "{{ '<|im_start|>system\nYou are {{ name }}.<|im_end|>' }}" + rest,
          "{% set system_message = 'You are Yi.' %}" + rest,
          std::string("{% set default_system_message = \"You are Mistral.\" %}[SYSTEM_PROMPT] [INST]"),
          std::string("{{- \"<|start_header_id|>system<|end_header_id|>Cutting Knowledge Date: 2023\" }}")}) {
        EXPECT_TRUE(own(text).unread) << text;
        EXPECT_EQ(own(text).text, "") << text;
    }
    EXPECT_FALSE(own("{%- set system_message = \"\" %}<|start_header_id|><|end_header_id|>").unread);
}

// A search that restarts or runs to the end for each mark would take more than 30 seconds.
TEST(ChatTemplate, TimeGrowsWithTheTextAlone) {
    const auto many = [](std::string_view part) {
        std::string text;
        while (text.size() < 2'000'000) text += part;
        return text;
    };
    const std::string head = "<|im_start|>system\n";
    EXPECT_FALSE(default_system(ChatForm::chatml, many(head)).unread); // no end
    EXPECT_TRUE(default_system(ChatForm::chatml, many(head) + "<|im_end|>").unread);
    EXPECT_TRUE(default_system(ChatForm::chatml, many("{% if x %}" + head + "a<|im_end|>")).unread);
    EXPECT_EQ(default_system(ChatForm::chatml, many("{% if messages %}" + head + "a<|im_end|>")).text, "a");
    EXPECT_EQ(default_system(ChatForm::chatml, many("{% if tools %}" + head + "a<|im_end|>")).text, "");
    EXPECT_EQ(default_system(ChatForm::chatml, many("{% if tools ") + many(head + "a<|im_end|>")).text, "a");
    EXPECT_EQ(recognise_chat("<|assistant|>" + many("<|end|>'"), "test"), ChatForm::phi4_mini);
    // Half a million variables, each with its value at the end of the text.
    const std::string set = "{% set default_system_message = " + many("a + ") + "a %}{{ x = default_system_message }}";
    EXPECT_TRUE(default_system(ChatForm::mistral_v7, set + "{% set a = strftime_now(\"%Y\") %}").text.empty());
}

// Each takes as much memory as a whole part of a template.
TEST(ChatTemplate, AnExpressionHasAtMost64Parts) {
    std::string expression = "'a'";
    for (int i = 1; i < 64; ++i) expression += " + 'a'";
    EXPECT_EQ(parts_of(expression).size(), 64u);
    EXPECT_EQ(parts_of(expression).back().kind, ChatPart::text);
    for (int i = 0; i < 1000; ++i) expression += "+b";
    EXPECT_EQ(parts_of(expression).size(), 65u);
    EXPECT_EQ(parts_of(expression).back().kind, ChatPart::other);
}

TEST(ChatTemplate, RefusesOthersByName) {
    try {
        recognise_chat("{{ 'Human: ' + m }}\n", "model/tokenizer_config.json");
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code, ErrorCode::model);
        const std::string what = error.what();
        EXPECT_TRUE(what.starts_with("model/tokenizer_config.json: the chat template '{{ 'Human: '")) << what;
        EXPECT_EQ(what.find('\n'), std::string::npos);
    }
    const auto refuses = [](ChatForm form, std::vector<ChatMessage> messages) {
        EXPECT_THROW(write_chat(form, messages), Error);
    };
    refuses(ChatForm::chatml, {{"wizard", "Hi"}});
    refuses(ChatForm::llama2, {{"user", "Hi"}, {"user", "Ho"}});
    refuses(ChatForm::mistral, {{"assistant", "Hi"}});
}

} // namespace
} // namespace ordo
