// SPDX-License-Identifier: MIT
// A conversation as the text that a model was trained on. Files carry a Jinja template for it; running those would
// take an interpreter, and most are one of a few forms, which are recognised by the marks that they put around a
// message. Any other is refused by name.
#pragma once

#include "ordo.h"

#include <span>
#include <string>
#include <string_view>

namespace ordo {

enum class ChatForm {
    chatml,
    llama2,
    llama3,
    gemma,
    phi3,
    phi4,
    phi4_mini,
    mistral,        // [INST] text [/INST] answer</s>
    mistral_v3,     // [INST] text[/INST] answer</s>
    mistral_nemo,   // [INST]text[/INST]answer</s>
    mistral_v7,     // [SYSTEM_PROMPT] text[/SYSTEM_PROMPT][INST] text[/INST] answer</s>
    mistral_small3, // the same without spaces
    zephyr
};
std::string_view name_of(ChatForm form);

// Of the text of a template; where names it in errors. Throws Error(model) for one that is none of them.
ChatForm recognise_chat(std::string_view chat_template, std::string_view where);

// The system prompt that a template puts before a conversation without one.
struct DefaultSystem {
    std::string text;    // empty: none, or none that could be read
    bool unread = false; // there is one, of which only an interpreter could tell what it is
};
DefaultSystem default_system(ChatForm form, std::string_view chat_template);

// What ends a message of the assistant: a special token, by its name.
std::string_view end_of_message(ChatForm form);

struct ChatMessage {
    std::string role; // system, user, assistant
    std::string text;
};
// The messages in that form, and with answer what the assistant's next one begins with. A beginning token is not
// among it, since the tokenizer's frame has it; special tokens stand in it by their names. A form without a role for
// the system puts its text before the first user's. Throws Error(usage) for a role that is not known, and for
// messages of which a form cannot tell whose they are: those that do not take turns.
std::string write_chat(ChatForm form, std::span<const ChatMessage> messages, bool answer = true);

} // namespace ordo
