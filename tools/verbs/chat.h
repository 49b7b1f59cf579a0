// SPDX-License-Identifier: MIT
// What ordo generate --chat makes of a prompt.
#pragma once

#include "text/chat_template.h"
#include "tools/verbs/generate.h"

namespace ordo::tools {

// A conversation with a model, in the form that it was trained with.
class Chat {
public:
    Chat(ChatTemplate form, std::string system);

    void say(std::string text) { messages_.push_back({"user", std::move(text)}); }
    void answered(std::string text) { messages_.push_back({"assistant", std::move(text)}); }
    bool take_back_answer(); // false if nothing was said that could be answered again
    void begin_anew();
    void go_on_from(Chat before) { messages_ = std::move(before.messages_); }
    // All that was said, and what an answer begins with.
    std::string text() const { return write_chat(form_, messages_); }

private:
    ChatTemplate form_;
    std::string system_;
    std::vector<ChatMessage> messages_;
};

// None without --chat. The request becomes one that ends with an answer. Throws Error(usage) for a model that has no
// chat template, Error(model) for a template of a form that is not known.
std::optional<Chat> begin_chat(const Arguments& arguments, const Model& model, GenerateRequest& request);

// Says on stderr that the model has a template for --chat, which was not given, unless --raw was.
void note_chat(const Arguments& arguments, const Model& model, const GenerateRequest& request);

} // namespace ordo::tools
