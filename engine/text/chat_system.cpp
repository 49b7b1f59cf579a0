// SPDX-License-Identifier: MIT
// The default system prompt of a chat template.
#include "text/chat_expressions.h"
#include "text/chat_template.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <vector>

namespace ordo {
namespace {

// Whether a variable is set to a non-empty literal, or words occur that only a default system prompt has.
bool sets_system(std::string_view text) {
    for (const std::string_view variable : {"system_message = ", "system_prompt = "})
        for (std::size_t at = text.find(variable); at != text.npos; at = text.find(variable, at + 1)) {
            const std::string_view value = text.substr(at + variable.size());
            if (value.size() > 1 && (value[0] == '\'' || value[0] == '"') && value[1] != value[0]) return true;
        }
    return text.find("Reasoning Mode: ") != text.npos;
}

// Today's date in a format of strftime. Empty for a long format, or one with other conversions than these.
std::optional<std::string> today(const std::string& format) {
    constexpr std::string_view conversions = "YymdbBaAjHMS%";
    for (std::size_t at = format.find('%'); at != format.npos; at = format.find('%', at + 2))
        if (at + 1 == format.size() || conversions.find(format[at + 1]) == conversions.npos) return {};
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    std::array<char, 256> date{};
    if (localtime_r(&now, &parts) == nullptr) return {};
    const std::size_t size = std::strftime(date.data(), date.size(), format.c_str(), &parts);
    if (size == 0) return {};
    return std::string(date.data(), size);
}

// The value of a variable that Mistral's templates, from Small 3 on, use if there is no system message:
//   {% set today = strftime_now("%Y-%m-%d") %}{% set default_system_message = "It is " + today + "." %}
// Empty if there is none, or if it needs more computation than this.
std::optional<std::string> system_variable(std::string_view text) {
    constexpr std::string_view set = "set default_system_message = ";
    std::size_t at = text.find(set);
    if (at == text.npos || text.find("= default_system_message", at + set.size()) == text.npos) return {};
    at += set.size();
    const std::size_t end = end_of_expression(text, at, "%}");
    if (end == text.npos) return {};
    std::string value;
    for (const ChatPart& part : parts_of(text.substr(at, end - at))) {
        if (part.kind == ChatPart::text) {
            value += part.literal;
            continue;
        }
        const std::string now = "set " + part.literal + " = strftime_now(";
        const std::size_t place = part.literal.empty() ? text.npos : text.find(now);
        if (place == text.npos) return {};
        const std::optional<std::string> date = today(literal_at(text, place + now.size() + 1));
        if (!date) return {};
        value += *date;
    }
    return value;
}

// The next occurrence of a mark from increasing places. Each byte is searched once over all calls.
class Next {
public:
    Next(std::string_view text, std::string_view mark) : text_(text), mark_(mark), found_(text.find(mark)) {}
    std::size_t from(std::size_t place) {
        if (found_ < place) found_ = text_.find(mark_, place);
        return found_;
    }

private:
    std::string_view text_, mark_;
    std::size_t found_; // npos is after every place
};

// The conditions around a place of a template, for increasing places.
class Conditions {
public:
    enum class On { messages, tools, more };

    explicit Conditions(std::string_view text) : text_(text), ends_(text, "%}"), at_(text.find("{%")) {}

    // The kind of condition that decides whether the text at that place is written.
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
            --n_[index(On::tools)]; // the else of a test for tools is written without them
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

DefaultSystem default_system(const ChatTemplate& chat, std::string_view text) {
    const ChatForm form = chat.form;
    if (std::optional<std::string> own = system_variable(text)) return {std::move(*own), false};
    DefaultSystem found{
        {}, sets_system(text) || (chat.dated.empty() && text.find("Cutting Knowledge Date: ") != text.npos)};
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
        if (on == On::tools) continue; // Ordo never passes tools
        // A second head before the end of the first means that this is not a prompt.
        const bool plain = on == On::messages && heads.from(begin) > end &&
                           body.find_first_of("'\"{}\\") == body.npos && (found.text.empty() || found.text == body);
        if (!plain) return {{}, true};
        found.text = body;
    }
    if (found.unread) found.text.clear();
    return found;
}

} // namespace ordo
