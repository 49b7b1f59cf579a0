// SPDX-License-Identifier: MIT
// What a chat template in Jinja says of its form: read from its literals, not run.
#include "core/error.h"
#include "core/trimmed.h"
#include "text/chat_template.h"

#include <algorithm>
#include <array>
#include <vector>

namespace ordo {
namespace {

constexpr std::string_view cutoff = "Cutting Knowledge Date: ";

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
    return text.find("Reasoning Mode: ") != text.npos;
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

// ---- Expressions -------------------------------------------------------------------------------
// {{ '[INST] ' + message['content'] | trim + eos_token }}: literals, and what stands between them.

struct Part {
    enum Kind { text, content, role, start, end, other } kind;
    std::string literal; // text
    bool trims = false;  // content
};

// A literal from its opening quote on; text is left behind its closing one.
std::string take_literal(std::string_view& text) {
    const char quote = text.front();
    std::string literal;
    std::size_t at = 1;
    for (; at < text.size() && text[at] != quote; ++at) {
        if (text[at] == '\\' && at + 1 < text.size()) {
            const char next = text[++at];
            literal += next == 'n' ? '\n' : next == 't' ? '\t' : next;
        } else {
            literal += text[at];
        }
    }
    text.remove_prefix(std::min(at + 1, text.size()));
    return literal;
}

// What is neither a literal nor an operator, up to the next one.
std::string_view take_operand(std::string_view& text) {
    std::size_t at = 0;
    int depth = 0;
    char quote = 0;
    for (; at < text.size(); ++at) {
        const char c = text[at];
        if (quote != 0)
            quote = c == quote ? '\0' : quote;
        else if (c == '\'' || c == '"')
            quote = c;
        else if (c == '(' || c == '[')
            ++depth;
        else if (c == ')' || c == ']')
            --depth;
        else if (depth <= 0 && (c == '+' || c == '~'))
            break;
    }
    const std::string_view operand = trimmed(text.substr(0, at));
    text.remove_prefix(at);
    return operand;
}

Part part_of(std::string_view operand) {
    std::string plain; // without white space, as with ["key"] for ['key']
    for (const char c : operand)
        if (c != ' ' && c != '\n' && c != '\t') plain += c == '"' ? '\'' : c;
    bool trims = false;
    for (const std::string_view filter : {"|trim", ".strip()"})
        if (plain.ends_with(filter)) {
            plain.resize(plain.size() - filter.size());
            trims = true;
        }
    const auto names = [&](std::string_view key) {
        const std::string item = "['" + std::string(key) + "']";
        return plain == key || plain.ends_with(item) || plain.ends_with("." + std::string(key));
    };
    if (plain == "eos_token") return {Part::end, {}};
    if (plain == "bos_token") return {Part::start, {}};
    if (names("content")) return {Part::content, {}, trims};
    return {!trims && names("role") ? Part::role : Part::other, {}};
}

std::vector<Part> parts_of(std::string_view expression) {
    std::vector<Part> parts;
    if (expression.starts_with('-')) expression.remove_prefix(1);
    if (expression.ends_with('-')) expression.remove_suffix(1);
    while (!(expression = trimmed(expression)).empty()) {
        const char first = expression.front();
        if (first == '+' || first == '~') {
            expression.remove_prefix(1);
        } else if (first == '\'' || first == '"') {
            parts.push_back({Part::text, take_literal(expression)});
            if (!take_operand(expression).empty()) parts.push_back({Part::other, {}}); // a filter or a method
        } else {
            parts.push_back(part_of(take_operand(expression)));
        }
    }
    return parts;
}

// Calls with the parts of each expression in {{ }}.
template <class Call>
void for_each_expression(std::string_view text, const Call& call) {
    for (std::size_t at = text.find("{{"); at < text.size(); at = text.find("{{", at)) {
        const std::size_t begin = at + 2;
        char quote = 0;
        for (at = begin; at < text.size(); ++at) {
            if (quote != 0 && text[at] == '\\')
                ++at;
            else if (quote != 0)
                quote = text[at] == quote ? '\0' : quote;
            else if (text[at] == '\'' || text[at] == '"')
                quote = text[at];
            else if (text.substr(at, 2) == "}}")
                break;
        }
        if (at >= text.size()) return;
        call(parts_of(text.substr(begin, at - begin)));
    }
}

// What stands before and after the only content among the parts. Nothing if there is none or more, or if a part
// cannot be read.
std::optional<ChatTemplate::Around> around_content(std::span<const Part> parts) {
    ChatTemplate::Around around;
    bool found = false;
    for (const Part& part : parts) {
        if (part.kind == Part::other || part.kind == Part::role || (part.kind == Part::content && found)) return {};
        if (part.kind == Part::start)
            around.begins = true;
        else if (part.kind == Part::content)
            found = true, around.trims = part.trims;
        else
            (found ? around.after : around.before) += part.kind == Part::end ? "</s>" : part.literal;
    }
    if (!found) return {};
    return around;
}

// How the template writes what a user says and what is answered.
void read_turns(ChatTemplate& chat, std::string_view text) {
    for_each_expression(text, [&](const std::vector<Part>& parts) {
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

// How it writes a message of any role: '<|im_start|>' + role + '\n' + content + '<|im_end|>\n'.
void read_marked(ChatTemplate& chat, std::string_view text) {
    const ChatMarks marks = marks_of(chat.form);
    for_each_expression(text, [&](const std::vector<Part>& parts) {
        if (chat.marked || parts.size() < 4 || parts[0].literal != marks.before || parts[1].kind != Part::role) return;
        const std::optional<ChatTemplate::Around> around = around_content(std::span(parts).subspan(2));
        if (around && around->before == marks.after_role && !around->after.empty()) chat.marked = around;
    });
}

// ---- What else a template does -------------------------------------------------------------------

// The literal that begins at a place, behind its quote, or nothing. No mark is as long as the limit, which bounds the
// time.
std::string literal_at(std::string_view text, std::size_t place) {
    constexpr std::size_t limit = 256;
    if (place >= text.size() || place == 0 || (text[place - 1] != '\'' && text[place - 1] != '"')) return {};
    std::string_view rest = text.substr(place - 1, limit);
    return take_literal(rest);
}

// What Llama 3.1 and later put before the system's text. The date is the template's own, not today's, so that texts
// repeat.
std::string date_of(std::string_view text) {
    constexpr std::string_view set = "date_string = ";
    const std::string trained = literal_at(text, text.find(cutoff));
    if (trained.empty() || text.find("Today Date: ") == text.npos) return {};
    for (std::size_t at = text.find(set); at != text.npos; at = text.find(set, at + 1))
        if (const std::string date = literal_at(text, at + set.size() + 1); !date.empty())
            return trained + "Today Date: " + date + "\n\n";
    return {};
}

// What it writes after the head of an answer that is to come.
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
        if (opening.find("</think>") == opening.npos) return opening; // or it is for whoever asks for no thoughts
    }
    return {};
}

// Whether it asks for a role in another way than by comparing it: then it writes any.
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

// The form whose marks it has the most of, and those that it lacks.
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

DefaultSystem default_system(const ChatTemplate& chat, std::string_view text) {
    const ChatForm form = chat.form;
    DefaultSystem found{{}, sets_system(text) || (chat.dated.empty() && text.find(cutoff) != text.npos)};
    if (form != ChatForm::chatml && form != ChatForm::phi4) return found;
    using On = Conditions::On;
    const ChatMarks marks = marks_of(form);
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
