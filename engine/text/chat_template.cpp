// SPDX-License-Identifier: MIT
#include "text/chat_template.h"

#include "core/error.h"
#include "core/trimmed.h"

#include <algorithm>
#include <array>
#include <utility>

namespace ordo {
namespace {

constexpr std::string_view names[] = {"ChatML",     "Llama 2",         "Llama 3", "Gemma",      "Phi 3",
                                      "Phi 4",      "Phi 4 mini",      "Mistral", "Mistral v3", "Mistral Nemo",
                                      "Mistral v7", "Mistral Small 3", "Zephyr"};

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

// The forms that put marks around what the user says: before USER after_user before_answer ANSWER after_answer.
struct InstMarks {
    std::string_view before, after, before_answer, after_answer;
    std::string_view before_system, after_system;
    enum class System { first, last, apart } system; // in the first or the last of the user's messages, or before them
    bool trims;
};

InstMarks inst_marks_of(ChatForm form) {
    using System = InstMarks::System;
    switch (form) {
    case ChatForm::llama2:
        return {"[INST] ", " [/INST]", " ", " </s>", "<<SYS>>\n", "\n<</SYS>>\n\n", System::first, true};
    case ChatForm::mistral_v3:
        return {"[INST] ", "[/INST]", " ", "</s>", "", "\n\n", System::last, true};
    case ChatForm::mistral_nemo:
        return {"[INST]", "[/INST]", "", "</s>", "", "\n\n", System::last, false};
    case ChatForm::mistral_v7:
        return {"[INST] ", "[/INST]", " ", "</s>", "[SYSTEM_PROMPT] ", "[/SYSTEM_PROMPT]", System::apart, false};
    case ChatForm::mistral_small3:
        return {"[INST]", "[/INST]", "", "</s>", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", System::apart, false};
    default:
        return {"[INST] ", " [/INST]", " ", "</s>", "", "\n\n", System::first, true};
    }
}

bool by_turns(ChatForm form) {
    return form == ChatForm::llama2 || (form >= ChatForm::mistral && form <= ChatForm::mistral_small3);
}

// The user's and the assistant's messages by turns.
std::string write_inst(ChatForm form, std::span<const ChatMessage> messages) {
    using System = InstMarks::System;
    const InstMarks marks = inst_marks_of(form);
    std::string out, system;
    const auto append = [&](const auto&... parts) { (out.append(parts), ...); };
    bool users_turn = true;
    for (std::size_t i = 0; i < messages.size(); ++i) {
        const ChatMessage& message = messages[i];
        const std::string_view text = marks.trims ? trimmed(message.text) : std::string_view(message.text);
        if (message.role == "system") {
            system = std::string(marks.before_system).append(text).append(marks.after_system);
            if (marks.system == System::apart) append(std::exchange(system, {}));
            continue;
        }
        if ((message.role == "user") != users_turn)
            fail(ErrorCode::usage, "messages: expected user and assistant by turns for ", name_of(form),
                 ", found two of \"", message.role, '"');
        if (users_turn) {
            // From the second on, Llama's turns begin as a text does.
            append(form == ChatForm::llama2 && !out.empty() ? "<s>" : "", marks.before);
            if (marks.system == System::first || i + 1 == messages.size()) append(std::exchange(system, {}));
            append(text, marks.after);
        } else {
            append(marks.before_answer, text, marks.after_answer);
        }
        users_turn = !users_turn;
    }
    return out;
}

// Whether a line feed follows some mark, in its literal or in the next one: '<|end|>\n', '<|end|>' + '\n'.
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

// A variable that is set to a literal which is not empty, or words that only a template's own system prompt has.
bool sets_system(std::string_view text) {
    for (const std::string_view variable : {"system_message = ", "system_prompt = "})
        for (std::size_t at = text.find(variable); at != text.npos; at = text.find(variable, at + 1)) {
            const std::string_view value = text.substr(at + variable.size());
            if (value.size() > 1 && (value[0] == '\'' || value[0] == '"') && value[1] != value[0]) return true;
        }
    return text.find("Cutting Knowledge Date") != text.npos || text.find("Reasoning Mode: ") != text.npos;
}

// The next occurrence of a mark from places that only grow. Each byte is searched once, however often it is asked.
class Next {
public:
    Next(std::string_view text, std::string_view mark) : text_(text), mark_(mark), found_(text.find(mark)) {}
    std::size_t from(std::size_t place) {
        if (found_ < place) found_ = text_.find(mark_, place);
        return found_;
    }

private:
    std::string_view text_, mark_;
    std::size_t found_; // npos is behind every place
};

// The conditions that enclose a place of a template, for places that only grow.
class Conditions {
public:
    enum class On { messages, tools, more };

    explicit Conditions(std::string_view text) : text_(text), ends_(text, "%}"), at_(text.find("{%")) {}

    // What decides whether the text at that place is written.
    On at(std::size_t place) {
        while (at_ < place) {
            const std::size_t begin = at_ + 2, end = std::min(ends_.from(begin), text_.size());
            read(text_.substr(begin, end - begin));
            at_ = text_.find("{%", end);
        }
        return n_[index(On::more)] > 0 ? On::more : n_[index(On::tools)] > 0 ? On::tools : On::messages;
    }

private:
    static std::size_t index(On on) { return static_cast<std::size_t>(on); }

    void read(std::string_view tag) {
        tag.remove_prefix(std::min(tag.find_first_not_of("-+ \t\r\n"), tag.size()));
        const auto tests = [&](std::string_view name) { return tag.find(name) != tag.npos; };
        if (tag.starts_with("if ")) {
            open_.push_back(tests("messages") || tests("system") ? On::messages
                            : tests("tools")                     ? On::tools
                                                                 : On::more);
            ++n_[index(open_.back())];
        } else if (!open_.empty() && tag.starts_with("el") && open_.back() == On::tools) {
            --n_[index(On::tools)]; // the else of a test for tools is what is written without them
            open_.back() = On::messages;
            ++n_[index(On::messages)];
        } else if (!open_.empty() && tag.starts_with("endif")) {
            --n_[index(open_.back())];
            open_.pop_back();
        }
    }

    std::string_view text_;
    Next ends_;
    std::size_t at_; // of the next tag
    std::vector<On> open_;
    std::array<std::size_t, 3> n_{}; // of open_, by kind
};

} // namespace

std::string_view name_of(ChatForm form) {
    return names[static_cast<std::size_t>(form)];
}

std::string_view end_of_message(ChatForm form) {
    if (by_turns(form)) return "</s>";
    const std::string_view after = marks_of(form).after;
    return after.substr(0, after.find('\n'));
}

ChatForm recognise_chat(std::string_view text, std::string_view where) {
    const auto has = [&](std::string_view mark) { return text.find(mark) != text.npos; };
    if (has("<|im_start|>")) return has("<|im_sep|>") ? ChatForm::phi4 : ChatForm::chatml;
    if (has("<|start_header_id|>") && has("<|end_header_id|>")) return ChatForm::llama3;
    if (has("<start_of_turn>")) return ChatForm::gemma;
    if (has("[INST]")) return has("<<SYS>>") ? ChatForm::llama2 : mistral_form(text);
    if (has("<|assistant|>") && has("<|end|>"))
        return line_feed_after(text, "<|end|>") ? ChatForm::phi3 : ChatForm::phi4_mini;
    if (has("<|assistant|>") && has("<|user|>") && (has("</s>") || has("eos_token"))) return ChatForm::zephyr;
    std::string known;
    for (const std::string_view name : names) known.append(known.empty() ? "" : ", ").append(name);
    fail(ErrorCode::model, where, ": the chat template '", printable(trimmed(text), 60),
         "' is not supported: known are ", known);
}

DefaultSystem default_system(ChatForm form, std::string_view text) {
    DefaultSystem found{{}, sets_system(text)};
    if (form != ChatForm::chatml && form != ChatForm::phi4) return found;
    using On = Conditions::On;
    const Marks marks = marks_of(form);
    const std::string head = std::string(marks.before) + "system";
    Next heads(text, head), ends(text, marks.after.substr(0, marks.after.find('\n')));
    Conditions conditions(text);
    for (std::size_t at = heads.from(0); at != text.npos; at = heads.from(at + 1)) {
        const std::string_view rest = text.substr(at + head.size());
        const std::string_view breaks[] = {marks.after_role, "\\n"};
        const auto* const after = std::find_if(std::begin(breaks), std::end(breaks),
                                               [&](std::string_view each) { return rest.starts_with(each); });
        if (after == std::end(breaks)) continue;
        const std::size_t begin = at + head.size() + after->size(), end = ends.from(begin);
        if (end == text.npos || end == begin) continue;
        const std::string_view body = text.substr(begin, end - begin);
        if (body[0] == '\'' || body[0] == '"') continue; // the end of a literal
        const On on = conditions.at(at);
        if (on == On::tools) continue; // which nobody gives here
        // A second head before the end of the first is no prompt.
        const bool plain = on == On::messages && heads.from(begin) > end &&
                           body.find_first_of("'\"{}\\") == body.npos && (found.text.empty() || found.text == body);
        if (!plain) return {{}, true};
        found.text = body;
    }
    if (found.unread) found.text.clear();
    return found;
}

std::string write_chat(ChatForm form, std::span<const ChatMessage> messages, bool answer) {
    for (const ChatMessage& message : messages)
        if (message.role != "system" && message.role != "user" && message.role != "assistant")
            fail(ErrorCode::usage, "messages: expected a role system, user or assistant, found \"",
                 printable(message.role), '"');
    return by_turns(form) ? write_inst(form, messages) : write_marked(form, messages, answer);
}

} // namespace ordo
