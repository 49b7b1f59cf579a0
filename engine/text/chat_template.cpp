// SPDX-License-Identifier: MIT
#include "text/chat_template.h"

#include "core/error.h"
#include "core/trimmed.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace ordo {
namespace {

constexpr std::string_view names[] = {"ChatML",     "Llama 2",         "Llama 3", "Gemma",      "Phi 3",
                                      "Phi 4",      "Phi 4 mini",      "Mistral", "Mistral v3", "Mistral Nemo",
                                      "Mistral v7", "Mistral Small 3", "Zephyr"};

} // namespace

ChatMarks marks_of(ChatForm form) {
    switch (form) {
    case ChatForm::llama3:
        return {"<|start_header_id|>", "<|end_header_id|>\n\n", "<|eot_id|>", "assistant", true};
    case ChatForm::gemma:
        return {"<start_of_turn>", "\n", "<end_of_turn>\n", "model", true};
    case ChatForm::phi3:
        return {"<|", "|>\n", "<|end|>\n", "assistant", false};
    case ChatForm::phi4:
        return {"<|im_start|>", "<|im_sep|>", "<|im_end|>", "assistant", false};
    case ChatForm::phi4_mini:
        return {"<|", "|>", "<|end|>", "assistant", false};
    case ChatForm::zephyr:
        return {"<|", "|>\n", "</s>\n", "assistant", false};
    default:
        return {"<|im_start|>", "\n", "<|im_end|>\n", "assistant", false};
    }
}

namespace {

// The part of an earlier answer after its thoughts.
std::string_view without_thoughts(std::string_view text) {
    constexpr std::string_view end = "</think>";
    const std::size_t at = text.rfind(end);
    if (at == text.npos) return text;
    text.remove_prefix(at + end.size());
    text.remove_prefix(std::min(text.find_first_not_of('\n'), text.size()));
    return text;
}

std::string write_marked(const ChatTemplate& chat, std::span<const ChatMessage> messages, bool answer) {
    ChatMarks marks = marks_of(chat.form);
    if (chat.marked) marks.after_role = chat.marked->before, marks.after = chat.marked->after;
    const bool trims = chat.marked ? chat.marked->trims : marks.trims, merges = chat.form == ChatForm::gemma;
    std::string out, system;
    const auto head = [&](std::string_view role) {
        out.append(marks.before).append(role == "assistant" ? marks.assistant : role).append(marks.after_role);
    };
    if (!chat.dated.empty()) {
        head("system");
        out += chat.dated;
        if (!messages.empty() && messages.front().role == "system") {
            out += trimmed(messages.front().text);
            messages = messages.subspan(1);
        }
        out += marks.after;
    }
    for (const ChatMessage& message : messages) {
        if (merges && message.role == "system") { // the form has no system role
            system = message.text + "\n\n";
            continue;
        }
        std::string_view text = message.text;
        if (chat.drops_thoughts && message.role == "assistant") text = without_thoughts(text);
        head(message.role);
        if (message.role == "user") out += std::exchange(system, {});
        out.append(trims ? trimmed(text) : text).append(marks.after);
    }
    if (answer) {
        head("assistant");
        out += chat.opening;
    }
    return out;
}

// The forms that put marks around a user's message: before USER after_user before_answer ANSWER after_answer.
struct InstMarks {
    std::string_view before, after, before_answer, after_answer;
    std::string_view before_system, after_system;
    enum class System { first, last, apart } system; // in the user's first or last message, or before them
    bool trims_user, trims_answer;
};

InstMarks marks_of_form(ChatForm form) {
    using System = InstMarks::System;
    switch (form) {
    case ChatForm::llama2:
        return {"[INST] ", " [/INST]", " ", " </s>", "<<SYS>>\n", "\n<</SYS>>\n\n", System::first, true, true};
    case ChatForm::mistral_v3:
        return {"[INST] ", "[/INST]", " ", "</s>", "", "\n\n", System::last, true, true};
    case ChatForm::mistral_nemo:
        return {"[INST]", "[/INST]", "", "</s>", "", "\n\n", System::last, false, false};
    case ChatForm::mistral_v7:
        return {"[INST] ", "[/INST]", " ", "</s>", "[SYSTEM_PROMPT] ", "[/SYSTEM_PROMPT]", System::apart, false, false};
    case ChatForm::mistral_small3:
        return {"[INST]", "[/INST]", "", "</s>", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", System::apart, false, false};
    default:
        return {"[INST] ", " [/INST]", " ", "</s>", "", "\n\n", System::first, true, true};
    }
}

InstMarks inst_marks_of(const ChatTemplate& chat) {
    InstMarks marks = marks_of_form(chat.form);
    if (chat.user)
        marks.before = chat.user->before, marks.after = chat.user->after, marks.trims_user = chat.user->trims;
    if (!chat.answer) return marks;
    marks.before_answer = chat.answer->before;
    marks.after_answer = chat.answer->after;
    marks.trims_answer = chat.answer->trims;
    return marks;
}

bool by_turns(ChatForm form) {
    return form == ChatForm::llama2 || (form >= ChatForm::mistral && form <= ChatForm::mistral_small3);
}

// The alternating messages of the user and the assistant.
std::string write_inst(const ChatTemplate& chat, std::span<const ChatMessage> messages) {
    using System = InstMarks::System;
    const InstMarks marks = inst_marks_of(chat);
    std::string out, system;
    const auto append = [&](const auto&... parts) { (out.append(parts), ...); };
    const auto shown = [](const std::string& text, bool trims) { return std::string(trims ? trimmed(text) : text); };
    bool users_turn = true;
    for (std::size_t i = 0; i < messages.size(); ++i) {
        const ChatMessage& message = messages[i];
        if (message.role == "system") {
            system = std::string(marks.before_system).append(message.text).append(marks.after_system);
            if (marks.system == System::apart) append(std::exchange(system, {}));
            continue;
        }
        if ((message.role == "user") != users_turn)
            fail(ErrorCode::usage, "messages: expected user and assistant by turns for ", name_of(chat.form),
                 ", found two of \"", message.role, '"');
        if (users_turn) {
            // From the second on, each of Llama's turns begins with <s>, as a text does.
            const bool begins = chat.user ? chat.user->begins : chat.form == ChatForm::llama2;
            append(begins && !out.empty() ? "<s>" : "", marks.before);
            const bool here = marks.system == System::first || i + 1 == messages.size();
            const std::string before = here ? std::exchange(system, {}) : std::string();
            append(shown(before + message.text, marks.trims_user), marks.after);
        } else {
            append(marks.before_answer, shown(message.text, marks.trims_answer), marks.after_answer);
        }
        users_turn = !users_turn;
    }
    return out;
}

} // namespace

std::string_view name_of(ChatForm form) {
    return names[static_cast<std::size_t>(form)];
}

std::string_view end_of_message(ChatForm form) {
    if (by_turns(form)) return "</s>";
    const std::string_view after = marks_of(form).after;
    return after.substr(0, after.find('\n'));
}

std::string write_chat(const ChatTemplate& chat, std::span<const ChatMessage> messages, bool answer) {
    std::vector<ChatMessage> written;
    for (const ChatMessage& message : messages) {
        if (message.role != "system" && message.role != "user" && message.role != "assistant")
            fail(ErrorCode::usage, "messages: expected a role system, user or assistant, found \"",
                 printable(message.role), '"');
        if (message.role == "system" && chat.system == ChatTemplate::System::refused)
            fail(ErrorCode::usage, "messages: expected no system message, which this chat template refuses, found one");
        if (message.role != "system" || chat.system == ChatTemplate::System::written) written.push_back(message);
    }
    return by_turns(chat.form) ? write_inst(chat, written) : write_marked(chat, written, answer);
}

} // namespace ordo
