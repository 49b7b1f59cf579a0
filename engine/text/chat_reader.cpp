// SPDX-License-Identifier: MIT
// The form of a chat template in Jinja, found from its literals without running it.
#include "core/error.h"
#include "core/trimmed.h"
#include "text/chat_expressions.h"
#include "text/chat_template.h"

#include <algorithm>
#include <array>
#include <vector>

namespace ordo {
namespace {

// Whether a line feed follows the mark, in its literal or in the next one: '<|end|>\n', '<|end|>' + '\n'.
bool line_feed_after(std::string_view text, std::string_view mark) {
    for (std::size_t at = text.find(mark); at != text.npos; at = text.find(mark, at + 1)) {
        const std::size_t next = text.find_first_not_of("'\"+ ", at + mark.size());
        if (next != text.npos && (text[next] == '\n' || text.substr(next).starts_with("\\n"))) return true;
    }
    return false;
}

ChatForm mistral_form(std::string_view text) {
    const bool spaces = text.find("[INST] ") != text.npos;
    if (text.find("[SYSTEM_PROMPT]") != text.npos) return spaces ? ChatForm::mistral_v7 : ChatForm::mistral_small3;
    if (text.find(" [/INST]") != text.npos) return ChatForm::mistral;
    return spaces ? ChatForm::mistral_v3 : ChatForm::mistral_nemo;
}

// The text before and after the only content among the parts. Empty if there is no content or more than one, or if a
// part cannot be read.
std::optional<ChatTemplate::Around> around_content(std::span<const ChatPart> parts) {
    ChatTemplate::Around around;
    bool found = false;
    for (const ChatPart& part : parts) {
        if (part.kind == ChatPart::other || part.kind == ChatPart::role || (part.kind == ChatPart::content && found))
            return {};
        if (part.kind == ChatPart::start)
            around.begins = true;
        else if (part.kind == ChatPart::content)
            found = true, around.trims = part.trims;
        else
            (found ? around.after : around.before) += part.kind == ChatPart::end ? "</s>" : part.literal;
    }
    if (!found) return {};
    return around;
}

// Reads how the template writes the messages of the user and of the assistant.
void read_turns(ChatTemplate& chat, std::string_view text) {
    for_each_expression(text, [&](const std::vector<ChatPart>& parts) {
        const std::optional<ChatTemplate::Around> around = around_content(parts);
        if (!around) return;
        const bool users =
            around->before.find("[INST]") != around->before.npos && around->after.find("[/INST]") != around->after.npos;
        const bool answers =
            around->before.find('[') == around->before.npos && around->after.find("</s>") != around->after.npos;
        if (users && !chat.user) chat.user = around;
        if (answers && !chat.answer) chat.answer = around;
    });
}

// Reads how the template writes a message of any role: '<|im_start|>' + role + '\n' + content + '<|im_end|>\n'.
void read_marked(ChatTemplate& chat, std::string_view text) {
    const ChatMarks marks = marks_of(chat.form);
    for_each_expression(text, [&](const std::vector<ChatPart>& parts) {
        if (chat.marked || parts.size() < 4 || parts[0].literal != marks.before || parts[1].kind != ChatPart::role)
            return;
        const std::optional<ChatTemplate::Around> around = around_content(std::span(parts).subspan(2));
        if (around && around->before == marks.after_role && !around->after.empty()) chat.marked = around;
    });
}

// ---- Other parts of a template -------------------------------------------------------------------

// The text that Llama 3.1 and later put before the system's. It uses the date of the template instead of today's, so
// that the output is reproducible.
std::string date_of(std::string_view text) {
    constexpr std::string_view set = "date_string = ";
    const std::string trained = literal_at(text, text.find("Cutting Knowledge Date: "));
    if (trained.empty() || text.find("Today Date: ") == text.npos) return {};
    for (std::size_t at = text.find(set); at != text.npos; at = text.find(set, at + 1))
        if (const std::string date = literal_at(text, at + set.size() + 1); !date.empty())
            return trained + "Today Date: " + date + "\n\n";
    return {};
}

// The text that the template writes after the head of the next answer.
std::string opening_of(const ChatTemplate& chat, std::string_view text) {
    const std::size_t prompt = text.rfind("add_generation_prompt");
    if (prompt == text.npos) return {};
    const ChatMarks marks = marks_of(chat.form);
    const std::string head = std::string(marks.before).append(marks.assistant);
    const std::string whole = head + std::string(marks.after_role);
    for (std::size_t at = text.find(head, prompt); at != text.npos; at = text.find(head, at + 1)) {
        const std::string literal = literal_at(text, at);
        if (!literal.starts_with(whole)) continue;
        std::string opening = literal.substr(whole.size());
        if (opening.find("</think>") == opening.npos) return opening; // otherwise it is the variant without thoughts
    }
    return {};
}

// Whether it uses a role other than in a comparison. Then it writes any role.
bool writes_any_role(std::string_view text) {
    for (const std::string_view item : {"['role']", "[\"role\"]", ".role"})
        for (std::size_t at = text.find(item); at != text.npos; at = text.find(item, at + 1)) {
            std::string_view rest = text.substr(at + item.size(), 64);
            rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
            if (!rest.starts_with("==") && !rest.starts_with("!=") && !rest.starts_with("in ")) return true;
        }
    return false;
}

ChatTemplate::System system_of(std::string_view text) {
    using System = ChatTemplate::System;
    const auto has = [&](std::string_view mark) { return text.find(mark) != text.npos; };
    if (has("System role not supported")) return System::refused;
    if (has("system")) return System::written;
    if (has("raise_exception")) return System::refused;
    return writes_any_role(text) || !has("role") ? System::written : System::dropped;
}

// The form with the most matching marks, and the marks that the template lacks.
std::string why_refused(std::string_view text) {
    struct Known {
        ChatForm form;
        std::array<std::string_view, 3> marks;
    };
    constexpr Known forms[] = {{ChatForm::chatml, {"<|im_start|>", "<|im_end|>"}},
                               {ChatForm::llama3, {"<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"}},
                               {ChatForm::gemma, {"<start_of_turn>", "<end_of_turn>"}},
                               {ChatForm::llama2, {"[INST]", "[/INST]", "<<SYS>>"}},
                               {ChatForm::mistral, {"[INST]", "[/INST]"}},
                               {ChatForm::phi3, {"<|user|>", "<|assistant|>", "<|end|>"}},
                               {ChatForm::zephyr, {"<|user|>", "<|assistant|>", "</s>"}}};
    const auto has = [&](std::string_view mark) { return text.find(mark) != text.npos; };
    const Known* nearest = nullptr;
    std::ptrdiff_t most = 0;
    for (const Known& known : forms) {
        const std::ptrdiff_t count = std::count_if(known.marks.begin(), known.marks.end(),
                                                   [&](std::string_view mark) { return !mark.empty() && has(mark); });
        if (count > most) most = count, nearest = &known;
    }
    std::string said;
    if (nearest == nullptr) {
        for (int form = 0; form <= static_cast<int>(ChatForm::zephyr); ++form)
            said.append(said.empty() ? "" : ", ").append(name_of(static_cast<ChatForm>(form)));
        return "it has no mark of a form that is known: " + said;
    }
    for (const std::string_view mark : nearest->marks)
        if (!mark.empty() && !has(mark)) said.append(said.empty() ? "'" : ", '").append(mark).append("'");
    return "it is nearest to " + std::string(name_of(nearest->form)) + ", but lacks " + said;
}

} // namespace

ChatForm recognise_chat(std::string_view text, std::string_view where) {
    const auto has = [&](std::string_view mark) { return text.find(mark) != text.npos; };
    if (has("<|im_start|>")) return has("<|im_sep|>") ? ChatForm::phi4 : ChatForm::chatml;
    if (has("<|start_header_id|>") && has("<|end_header_id|>")) return ChatForm::llama3;
    if (has("<start_of_turn>")) return ChatForm::gemma;
    if (has("[INST]")) return has("<<SYS>>") ? ChatForm::llama2 : mistral_form(text);
    if (has("<|assistant|>") && has("<|end|>"))
        return line_feed_after(text, "<|end|>") ? ChatForm::phi3 : ChatForm::phi4_mini;
    if (has("<|assistant|>") && has("<|user|>") && (has("</s>") || has("eos_token"))) return ChatForm::zephyr;
    fail(ErrorCode::model, where, ": the chat template '", printable(trimmed(text), 60),
         "' is not supported: ", why_refused(text));
}

ChatTemplate read_chat(std::string_view text, std::string_view where) {
    ChatTemplate chat = recognise_chat(text, where);
    const bool takes_turns = text.find("[INST]") != text.npos;
    takes_turns ? read_turns(chat, text) : read_marked(chat, text);
    chat.system = system_of(text);
    if (chat.form == ChatForm::llama3) chat.dated = date_of(text);
    if (!takes_turns) chat.opening = opening_of(chat, text);
    chat.drops_thoughts = text.find("split('</think>')") != text.npos || text.find("split(\"</think>\")") != text.npos;
    return chat;
}

} // namespace ordo
