// SPDX-License-Identifier: MIT
// Writes a conversation in the form of the text on which a model was trained. Files contain a Jinja template for it,
// which would need an interpreter. Most templates have one of a few forms, which are recognised by their marks around a
// message. Other templates are refused by name.
#pragma once

#include "rows.h"

#include <optional>
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

// A form, with the variations of one template.
struct ChatTemplate {
    ChatTemplate(ChatForm of_form) : form(of_form) {} // NOLINT: as in that form's first templates

    // The text around a message, and whether white space at the message's ends is removed.
    struct Around {
        std::string before, after;
        bool trims = false;
        bool begins = false; // with the beginning-of-text token
    };
    // A system message is written, silently dropped, or an error.
    enum class System { written, dropped, refused };

    ChatForm form;
    std::optional<Around> user, answer; // of the forms with alternating turns
    std::optional<Around> marked;       // of the other forms: between the role and the text, and after it
    System system = System::written;
    std::string dated;           // Llama 3.1: the beginning of the system message, which is always written
    std::string opening;         // the beginning of an answer, after its head: "<think>\n"
    bool drops_thoughts = false; // of earlier answers, up to </think>
};

// The form of a template's text; where names it in errors. Throws Error(model) for an unknown form, with the nearest
// one.
ChatForm recognise_chat(std::string_view chat_template, std::string_view where);
ChatTemplate read_chat(std::string_view chat_template, std::string_view where);

// The system prompt that a template adds to a conversation without one.
struct DefaultSystem {
    std::string text;    // empty: there is none, or it could not be read
    bool unread = false; // there is one, but only an interpreter could read it
};
DefaultSystem default_system(const ChatTemplate& chat, std::string_view chat_template);

// The marks of the forms that write the role before each message.
struct ChatMarks {
    std::string_view before, after_role, after; // before ROLE after_role TEXT after
    std::string_view assistant;                 // the name of that role
    bool trims;                                 // white space around a text is removed
};
ChatMarks marks_of(ChatForm form);

// The special token, by name, at the end of an assistant's message.
std::string_view end_of_message(ChatForm form);

struct ChatMessage {
    std::string role; // system, user, assistant
    std::string text;
};
// Writes the messages in that form, as the Jinja template does; with `answer`, also the beginning of the assistant's
// next message. The beginning-of-text token is omitted, as the tokenizer's frame has it. Special tokens are written by
// name. A form without a system role puts its text before the user's first message. Throws Error(usage) for an unknown
// role, for a system message that the template refuses, and for messages that do not alternate where the form requires
// it.
std::string write_chat(const ChatTemplate& chat, std::span<const ChatMessage> messages, bool answer = true);

} // namespace ordo
