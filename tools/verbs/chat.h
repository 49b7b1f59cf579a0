// SPDX-License-Identifier: MIT
// The conversations of ordo generate --chat.
#pragma once

#include "text/chat_template.h"
#include "tools/verbs/generate.h"

namespace ordo::tools {

// A conversation with a model, in the format of its training.
class Chat {
public:
    Chat(ChatTemplate form, std::string system);

    void say(std::string text) { messages_.push_back({"user", std::move(text)}); }
    void answered(std::string text) { messages_.push_back({"assistant", std::move(text)}); }
    bool take_back_answer(); // false if there is no answer to repeat
    void begin_anew();
    void go_on_from(Chat before) { messages_ = std::move(before.messages_); }
    // The whole conversation, and the start of the next answer.
    std::string text() const { return write_chat(form_, messages_); }

private:
    ChatTemplate form_;
    std::string system_;
    std::vector<ChatMessage> messages_;
};

// Empty without --chat. Changes the request to stop at the end of an answer. Throws Error(usage) for a model without
// a chat template, Error(model) for a template in an unknown form.
std::optional<Chat> begin_chat(const Arguments& arguments, const Model& model, GenerateRequest& request);

// Without --chat and --raw, reports on stderr that the model has a chat template.
void note_chat(const Arguments& arguments, const Model& model, const GenerateRequest& request);

} // namespace ordo::tools
