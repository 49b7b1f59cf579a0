// SPDX-License-Identifier: MIT
// A conversation as the text that a model was trained on. Files carry a Jinja template for it; running those would
// take an interpreter, and most are one of a few forms, which are recognised by the marks that they put around a
// message. Any other is refused by name.
#pragma once

#include "ordo.h"

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

// A form, and what a template that has it writes in a way of its own.
struct ChatTemplate {
    ChatTemplate(ChatForm of_form) : form(of_form) {} // NOLINT: as that form's first templates write

    // What stands around a text, and whether white space around it goes.
    struct Around {
        std::string before, after;
        bool trims = false;
        bool begins = false; // with the token that begins a text
    };
    // A system message is written, is left out without a word, or is an error.
    enum class System { written, dropped, refused };

    ChatForm form;
    std::optional<Around> user, answer; // of the forms that take turns
    std::optional<Around> marked;       // of the others: between the role and the text, and after it
    System system = System::written;
    std::string dated;           // Llama 3.1: what the system message, which is always there, begins with
    std::string opening;         // what an answer begins with, after its head: "<think>\n"
    bool drops_thoughts = false; // of earlier answers, up to </think>
};

// Of the text of a template; where names it in errors. Throws Error(model) for one that is none of them, with the form
// that it is nearest to.
ChatForm recognise_chat(std::string_view chat_template, std::string_view where);
ChatTemplate read_chat(std::string_view chat_template, std::string_view where);

// The system prompt that a template puts before a conversation without one.
struct DefaultSystem {
    std::string text;    // empty: none, or none that could be read
    bool unread = false; // there is one, of which only an interpreter could tell what it is
};
DefaultSystem default_system(const ChatTemplate& chat, std::string_view chat_template);

// The marks of the forms that name the role before each message.
struct ChatMarks {
    std::string_view before, after_role, after; // before ROLE after_role TEXT after
    std::string_view assistant;                 // the name of that role
    bool trims;                                 // white space around a text
};
ChatMarks marks_of(ChatForm form);

// What ends a message of the assistant: a special token, by its name.
std::string_view end_of_message(ChatForm form);

struct ChatMessage {
    std::string role; // system, user, assistant
    std::string text;
};
// The messages in that form, as the template in Jinja writes them, and with answer the beginning of the assistant's
// next one. A beginning token is not among it, since the tokenizer's frame has it; special tokens stand in it by
// their names. A form without a role for the system puts its text before the first user's. Throws Error(usage) for a
// role that is not known, for a system message that the template refuses, and for messages of which a form cannot
// tell whose they are: those that do not take turns.
std::string write_chat(const ChatTemplate& chat, std::span<const ChatMessage> messages, bool answer = true);

} // namespace ordo
