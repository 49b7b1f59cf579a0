// SPDX-License-Identifier: MIT
#include "text/chat_template.h"

#include "core/error.h"

#include <utility>

namespace ordo {
namespace {

constexpr std::string_view names[] = {"ChatML", "Llama 2", "Llama 3", "Gemma", "Phi", "Mistral", "Zephyr"};

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view space = " \t\n\r";
    const std::size_t begin = text.find_first_not_of(space);
    return begin == text.npos ? std::string_view() : text.substr(begin, text.find_last_not_of(space) - begin + 1);
}

// The forms that name the role before each message.
struct Marks {
    std::string_view before, after_role, after; // before ROLE after_role TEXT after
    std::string_view assistant;                 // the name of that role
    bool trims;                                 // white space around a text
};

Marks marks_of(ChatForm form) {
    switch (form) {
    case ChatForm::llama3:
        return {"<|start_header_id|>", "<|end_header_id|>\n\n", "<|eot_id|>", "assistant", true};
    case ChatForm::gemma:
        return {"<start_of_turn>", "\n", "<end_of_turn>\n", "model", true};
    case ChatForm::phi3:
        return {"<|", "|>\n", "<|end|>\n", "assistant", false};
    case ChatForm::zephyr:
        return {"<|", "|>\n", "</s>\n", "assistant", false};
    default:
        return {"<|im_start|>", "\n", "<|im_end|>\n", "assistant", false};
    }
}

std::string write_marked(ChatForm form, std::span<const ChatMessage> messages, bool answer) {
    const Marks marks = marks_of(form);
    std::string out, system;
    const auto head = [&](std::string_view role) {
        out.append(marks.before).append(role == "assistant" ? marks.assistant : role).append(marks.after_role);
    };
    for (const ChatMessage& message : messages) {
        const std::string_view text = marks.trims ? trimmed(message.text) : std::string_view(message.text);
        if (form == ChatForm::gemma && message.role == "system") { // it has no such role
            system = std::string(text) + "\n\n";
            continue;
        }
        head(message.role);
        if (message.role == "user") out += std::exchange(system, {});
        out.append(text).append(marks.after);
    }
    if (answer) head("assistant");
    return out;
}

// [INST] text [/INST] answer</s>, the user's and the assistant's by turns.
std::string write_inst(ChatForm form, std::span<const ChatMessage> messages) {
    const bool llama = form == ChatForm::llama2;
    std::string out, system;
    bool users_turn = true;
    for (const ChatMessage& message : messages) {
        const std::string text(trimmed(message.text));
        if (message.role == "system") {
            system = llama ? "<<SYS>>\n" + text + "\n<</SYS>>\n\n" : text + "\n\n";
            continue;
        }
        if ((message.role == "user") != users_turn)
            fail(ErrorCode::usage, "messages: expected user and assistant by turns for ", name_of(form),
                 ", found two of \"", message.role, '"');
        if (users_turn) {
            // From the second on, Llama's turns begin as a text does.
            out += (llama && !out.empty() ? "<s>[INST] " : "[INST] ") + std::exchange(system, {}) + text + " [/INST]";
        } else {
            out += " " + text + (llama ? " </s>" : "</s>");
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
    constexpr std::string_view ends[] = {"<|im_end|>", "</s>", "<|eot_id|>", "<end_of_turn>",
                                         "<|end|>",    "</s>", "</s>"};
    return ends[static_cast<std::size_t>(form)];
}

ChatForm recognise_chat(std::string_view text, std::string_view where) {
    const auto has = [&](std::string_view mark) { return text.find(mark) != text.npos; };
    if (has("<|im_start|>")) return ChatForm::chatml;
    if (has("<|start_header_id|>") && has("<|end_header_id|>")) return ChatForm::llama3;
    if (has("<start_of_turn>")) return ChatForm::gemma;
    if (has("[INST]")) return has("<<SYS>>") ? ChatForm::llama2 : ChatForm::mistral;
    if (has("<|assistant|>") && has("<|end|>")) return ChatForm::phi3;
    if (has("<|assistant|>") && has("<|user|>") && (has("</s>") || has("eos_token"))) return ChatForm::zephyr;
    std::string known;
    for (const std::string_view name : names) known.append(known.empty() ? "" : ", ").append(name);
    fail(ErrorCode::model, where, ": the chat template '", printable(trimmed(text), 60),
         "' is not supported: known are ", known);
}

std::string write_chat(ChatForm form, std::span<const ChatMessage> messages, bool answer) {
    for (const ChatMessage& message : messages)
        if (message.role != "system" && message.role != "user" && message.role != "assistant")
            fail(ErrorCode::usage, "messages: expected a role system, user or assistant, found \"",
                 printable(message.role), '"');
    const bool by_turns = form == ChatForm::llama2 || form == ChatForm::mistral;
    return by_turns ? write_inst(form, messages) : write_marked(form, messages, answer);
}

} // namespace ordo
