// SPDX-License-Identifier: MIT
#include "text/chat_template.h"

#include "core/trimmed.h"

#include <algorithm>

namespace ordo {
namespace {

// Calls the interpreter; its errors get the name of the file.
template <class Call>
auto explained(const std::string& where, const Call& call) {
    try {
        return call();
    } catch (const Error& error) {
        if (error.code == ErrorCode::usage)
            fail(error.code, where, ": the chat template refuses these messages: ", error.what());
        fail(error.code, where, ": chat template: ", error.what());
    }
}

std::string with_plain_line_ends(std::string text) {
    std::size_t size = 0;
    for (std::size_t at = 0; at < text.size(); ++at)
        if (text[at] != '\r')
            text[size++] = text[at];
        else if (at + 1 == text.size() || text[at + 1] != '\n')
            text[size++] = '\n';
    text.resize(size);
    return text;
}

} // namespace

ChatTemplate::ChatTemplate(std::string text, std::map<std::string, std::string> tokens, std::string where)
    : tokens_(std::move(tokens)), where_(std::move(where)),
      code_(explained(where_, [&] { return jinja::parse(with_plain_line_ends(std::move(text))); })) {}

std::string ChatTemplate::write(std::span<const ChatMessage> messages, bool answer, std::time_t now) const {
    jinja::State state(now);
    jinja::List all;
    for (const ChatMessage& message : messages) {
        all.emplace_back(state.dict());
        jinja::dict_in(all.back())->members = {{"role", message.role}, {"content", message.text}};
    }
    for (const auto& [name, text] : tokens_) state.root.names[name] = text;
    return explained(where_, [&] {
        state.root.names["messages"] = state.list(all);
        state.root.names["add_generation_prompt"] = answer;
        (*code_)(state);
        return std::move(state.out);
    });
}

std::string ChatTemplate::end_of_answer() const {
    const ChatMessage question{"user", "qquestionq"}, answer{"assistant", "aanswera"}, next{"user", "nnextn"};
    const auto behind_answer = [&](const std::vector<ChatMessage>& messages) {
        try {
            const std::string text = write(messages, false);
            const std::size_t at = text.rfind(answer.text);
            return at == text.npos ? std::string() : text.substr(at + answer.text.size());
        } catch (const Error&) { // the template refuses these messages
            return std::string();
        }
    };
    const std::string last = behind_answer({question, answer}), all = behind_answer({question, answer, next});
    const std::string earlier = all.substr(0, all.find(next.text));
    const auto [of_last, of_earlier] = std::mismatch(last.begin(), last.end(), earlier.begin(), earlier.end());
    std::string_view common = std::string_view(last).substr(0, static_cast<std::size_t>(of_last - last.begin())),
                     mark = trimmed(earlier);
    if (of_last != last.end() && of_earlier != earlier.end()) // not the beginning of two marks, such as "<|"
        common = common.substr(0, common.find_last_of(">]") + 1);
    common = trimmed(common);
    return std::string(!common.empty() ? common : trimmed(mark.substr(0, mark.find('\n'))));
}

} // namespace ordo
