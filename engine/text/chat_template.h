// SPDX-License-Identifier: MIT
// A conversation as the text on which a model was trained. The model's file has a template for it in Jinja.
#pragma once

#include "rows.h"
#include "text/jinja.h"

#include <span>

namespace ordo {

struct ChatMessage {
    std::string role; // system, user, assistant
    std::string text;
};

// The special tokens that a template may name. A model's metadata has their texts beside "chat_template".
inline constexpr std::string_view chat_tokens[] = {"bos_token", "eos_token", "pad_token", "unk_token"};

class ChatTemplate {
public:
    // tokens: the texts of chat_tokens; an absent one is undefined in the template. `where` names the file in errors.
    // Throws Error(model) for a text that is no template.
    ChatTemplate(std::string text, std::map<std::string, std::string> tokens, std::string where);

    // Writes the messages; with `answer`, also the beginning of the assistant's next message. Special tokens are
    // written by name, the beginning-of-text token included. Throws Error(usage) for messages that the template
    // refuses, Error(model) for a template that fails.
    std::string write(std::span<const ChatMessage> messages, bool answer = true,
                      std::time_t now = std::time(nullptr)) const;
    // The text between each answer and the next message: a special token, or the mark of the user's turn. Empty if
    // there is none.
    std::string end_of_answer() const;

private:
    std::map<std::string, std::string> tokens_;
    std::string where_;
    jinja::Code code_;
};

} // namespace ordo
