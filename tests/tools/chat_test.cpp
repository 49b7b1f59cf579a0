// SPDX-License-Identifier: MIT
// ordo generate --chat writes the same text as for a prompt that is written out in the model's format.
#include "tests/tools/child.h"
#include "tests/tools/models.h"

#include <gtest/gtest.h>

namespace {

using namespace ordo::test;

std::vector<std::string> with(std::vector<std::string> more, const std::string& model = "chat/mistral",
                              const std::string& n = "5") {
    const std::string words[] = {"generate", "-m", model_file(model), "-n", n, "-s", "3", "-q"};
    more.insert(more.begin(), std::begin(words), std::end(words));
    return more;
}
// The answer to a prompt that is written out in full.
std::string answer_to(const std::string& text) {
    return out_of(with({"--raw", "--special", "--no-display-prompt", "-p", text}));
}

TEST(CliChat, ThePromptIsAMessageInTheModelsForm) {
    const std::string plain = out_of(with({"--chat", "-p", "Hi"}));
    EXPECT_EQ(plain, answer_to("[INST] Hi [/INST]"));
    EXPECT_NE(plain, answer_to("Hi")) << "nothing depends on the form";
    EXPECT_EQ(out_of(with({"--chat", "--system", "Be", "-p", "Hi"})), answer_to("[INST] Be\n\nHi [/INST]"));
}

TEST(CliChat, AConversationGoesOn) {
    const auto talk = [](const std::string& typed) {
        const Outcome outcome = run_program(with({"--chat", "-i"}, "chat/mistral", "2"), {.input = typed});
        expect_success(outcome);
        EXPECT_EQ(outcome.err, "");
        return outcome.out;
    };
    const auto two_of = [](const std::string& text) {
        return out_of(with({"--raw", "--special", "--no-display-prompt", "-p", text}, "chat/mistral", "2"));
    };
    const std::string first = two_of("[INST] a [/INST]");
    ASSERT_EQ(first.find_first_of(" \t\r"), std::string::npos) << "the form would trim it";
    const std::string second = two_of("[INST] a [/INST] " + first.substr(0, first.size() - 1) + "</s>[INST] b [/INST]");
    EXPECT_EQ(talk("a\n"), first);
    EXPECT_EQ(talk("a\nb\n"), first + second);
    EXPECT_EQ(talk("a\n/seed 3\n/again\nb\n"), first + first + second);
    EXPECT_EQ(talk("a\n/again\n"), first + talk("/seed 4\na\n")); // /again takes the next seed
    EXPECT_EQ(talk("a\n/new\na\n"), first + first);
    // An input that exceeds the context is not part of the conversation.
    const Outcome full =
        run_program(with({"--chat", "-i"}, "chat/mistral", "2"), {.input = std::string(90, 'x') + "\n\na\n"});
    expect_success(full);
    EXPECT_EQ(full.out, first);
    EXPECT_NE(full.err.find("at most 64 tokens"), std::string::npos) << full.err;
    const Outcome nothing = run_program(with({"--chat", "-i"}), {.input = "/again\n"});
    expect_success(nothing);
    EXPECT_NE(nothing.err.find("no answer to take back"), std::string::npos) << nothing.err;
}

TEST(CliChat, ATemplatesOwnSystemPromptIsUsedAndShown) {
    const std::string message = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n";
    const auto answer = [](const std::string& text) {
        return out_of(with({"--raw", "--special", "--no-display-prompt", "-p", text}, "chat/own", "2"));
    };
    const auto chat = [](std::vector<std::string> more) {
        more.insert(more.end(), {"--chat", "-p", "Hi"});
        return out_of(with(more, "chat/own", "2"));
    };
    const std::string own = answer("<|im_start|>system\nBe.<|im_end|>\n" + message);
    EXPECT_EQ(chat({}), own);
    EXPECT_EQ(chat({"--system", ""}), answer(message));
    EXPECT_NE(own, answer(message)) << "nothing depends on it";
    const Outcome said =
        run_program({"generate", "-m", model_file("chat/own"), "-n", "2", "-s", "3", "--chat", "-v", "-p", "Hi"});
    EXPECT_NE(said.err.find("chat template writes: \"<|endoftext|><|im_start|>system\\x0aBe.<|im_end|>"),
              std::string::npos)
        << said.err;
}

// Phi-3-medium's template knows no system message, and Gemma's raises an exception.
TEST(CliChat, ASystemPromptIsDroppedOrRefusedAsTheTemplateDoes) {
    const Outcome dropped = run_program(
        {"generate", "-m", model_file("chat/drops"), "-n", "5", "-s", "3", "--chat", "--system", "Be", "-p", "Hi"});
    expect_success(dropped);
    EXPECT_EQ(dropped.out, out_of(with({"--chat", "-p", "Hi"}, "chat/drops")));
    EXPECT_NE(dropped.err.find("--system changes nothing: the model's chat template drops it"), std::string::npos)
        << dropped.err;
    expect_error(run_program(with({"--chat", "--system", "Be", "-p", "Hi"}, "chat/refuses")), 2,
                 "the model's chat template refuses a system message");
    expect_success(run_program(with({"--chat", "-p", "Hi"}, "chat/refuses")));
}

TEST(CliChat, WhatAModelHasNoFormForIsRefusedByName) {
    expect_error(run_program(with({"--chat", "-p", "Hi"}, "rope")), 2,
                 "expected a model with a chat template, found none in");
    const Outcome odd = run_program(with({"--chat", "-p", "Hi"}, "chat/odd"));
    expect_error(odd, 3, "chat template: line 2: the filter 'urlize' is not supported");
    EXPECT_NE(odd.err.find("--raw"), std::string::npos) << odd.err;
    expect_success(run_program(with({"--raw", "-p", "Hi"}, "chat/odd")));
    expect_error(run_program(with({"--chat", "--raw", "-p", "Hi"})), 2, "--chat or --raw");
    expect_error(run_program(with({"--chat", "--encodings", "none;rope", "-p", "Hi"})), 2, "--chat or --encodings");
}

TEST(CliChat, AModelMadeForItSaysSo) {
    const auto note = [](std::vector<std::string> more, const std::string& model) {
        const std::string words[] = {"generate", "-m", model_file(model), "-n", "1", "-s", "3", "-p", "Hi"};
        more.insert(more.begin(), std::begin(words), std::end(words));
        return run_program(more).err;
    };
    EXPECT_NE(note({}, "chat/mistral").find("--chat answers the prompt by it"), std::string::npos);
    EXPECT_EQ(note({"--raw"}, "chat/mistral").find("--chat"), std::string::npos);
    EXPECT_EQ(note({}, "random").find("--chat"), std::string::npos);
    EXPECT_NE(note({"--system", "Be"}, "random").find("--system changes nothing without --chat"), std::string::npos);
}

} // namespace
