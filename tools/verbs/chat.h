// SPDX-License-Identifier: MIT
// The conversations of ordo generate --chat.
#pragma once

#include "text/chat_template.h"
#include "tools/verbs/generate.h"

namespace ordo::tools {

// A conversation with a model, in the format of its training.
class Chat {
public:
    // opening: the messages at the beginning of each conversation
    Chat(std::shared_ptr<const ChatTemplate> form, std::vector<ChatMessage> opening)
        : form_(std::move(form)), opening_(std::move(opening)), messages_(opening_) {}

    void say(std::string text) { messages_.push_back({"user", std::move(text)}); }
    void answered(std::string text) { messages_.push_back({"assistant", std::move(text)}); }
    bool take_back_answer(); // false if there is no answer to repeat
    void begin_anew() { messages_ = opening_; }
    void go_on_from(Chat before) { messages_ = std::move(before.messages_); }
    // The whole conversation, and the start of the next answer. Throws the errors of the template.
    std::string text() const;

private:
    std::shared_ptr<const ChatTemplate> form_;
    std::vector<ChatMessage> opening_, messages_;
};

// Empty without --chat. Changes the request: to stop at the end of an answer, and to begin with the template's text.
// Throws Error(usage) for a model without a chat template, Error(model) for a text that is no template.
std::optional<Chat> begin_chat(const Arguments& arguments, const Model& model, GenerateRequest& request);

// Without --chat and --raw, reports on stderr that the model has a chat template.
void note_chat(const Arguments& arguments, const Model& model, const GenerateRequest& request);

} // namespace ordo::tools
