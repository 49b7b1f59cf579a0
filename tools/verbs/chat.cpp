// SPDX-License-Identifier: MIT
#include "tools/verbs/chat.h"

#include "core/error.h"
#include "model/model_access.h"

#include <algorithm>

namespace ordo::tools {

namespace chat_file {

// A template that fails leaves --raw.
template <class Call>
auto with_remedy(const Call& call) {
    try {
        return call();
    } catch (const Error& error) {
        if (error.code != ErrorCode::model) throw;
        fail(error.code, error.what(), "; --raw continues a prompt as it is");
    }
}

// The texts of the special tokens. A file without them has at least their ids.
std::map<std::string, std::string> tokens_of(const Model& model) {
    std::map<std::string, std::string> tokens;
    for (const std::string_view name : chat_tokens)
        if (std::string text = model.metadata(name); !text.empty()) tokens[std::string(name)] = std::move(text);
    const Tokenizer* const tokenizer = tokenizer_of(model);
    if (!tokens.empty() || tokenizer == nullptr) return tokens;
    for (const auto& [name, token] :
         {std::pair("bos_token", model.start_of_text()), {"eos_token", model.end_of_text()}})
        if (token >= 0) tokenizer->append(token, tokens[name], true);
    return tokens;
}

// Stops at the first special token that the template writes behind an answer, or at that text.
void stop_at(const std::string& end, const Tokenizer* tokenizer, Continuation::Options& options) {
    if (end.empty()) return;
    std::vector<Token> tokens;
    if (tokenizer != nullptr) tokenizer->encode(end, true, tokens);
    const auto special =
        std::find_if(tokens.begin(), tokens.end(), [&](Token each) { return tokenizer->is_special(each); });
    if (const Token whole = tokenizer != nullptr ? tokenizer->find(end) : -1; whole >= 0)
        options.also_end = {whole};
    else if (special != tokens.end())
        options.also_end = {*special};
    else
        options.stop.push_back(end);
}

// The given system message, as far as the template has a place for it.
std::vector<ChatMessage> opening_of(const Arguments& arguments, const ChatTemplate& form, bool quiet) {
    if (!arguments.has("system")) return {};
    const ChatMessage system{"system", arguments.text("system")}, question{"user", "Hi"};
    const std::string without = form.write(std::vector{question});
    try {
        const std::string with = form.write(std::vector{system, question});
        if (system.text.empty() && with.size() >= without.size()) return {}; // an empty message would be longer
        if (with == without && !quiet)
            write_message("warning: option --system changes nothing: the model's chat template drops it");
        return {system};
    } catch (const Error& error) {
        if (error.code != ErrorCode::usage) throw;
        if (system.text.empty()) return {};
        fail(ErrorCode::usage, "option --system: expected none, since the model's chat template refuses a system "
                               "message; put it into the prompt");
    }
}

} // namespace chat_file

bool Chat::take_back_answer() {
    if (!messages_.empty() && messages_.back().role == "assistant") messages_.pop_back();
    return !messages_.empty() && messages_.back().role == "user";
}

std::string Chat::text() const {
    return chat_file::with_remedy([&] { return form_->write(messages_); });
}

std::optional<Chat> begin_chat(const Arguments& arguments, const Model& model, GenerateRequest& request) {
    std::string chat_template = model.metadata("chat_template");
    if (!arguments.has("chat")) return {};
    const std::string& where = where_of(model);
    if (chat_template.empty())
        fail(ErrorCode::usage, "option --chat: expected a model with a chat template, found none in ", where);
    const auto form = chat_file::with_remedy([&] {
        return std::make_shared<const ChatTemplate>(std::move(chat_template), chat_file::tokens_of(model), where);
    });
    chat_file::stop_at(form->end_of_answer(), tokenizer_of(model), request.options);
    request.options.special = true;
    request.options.starts = false; // the template writes the token that starts a text, if there is one
    request.show_prompt = false;
    return Chat(form, chat_file::with_remedy([&] { return chat_file::opening_of(arguments, *form, request.quiet); }));
}

void note_chat(const Arguments& arguments, const Model& model, const GenerateRequest& request) {
    if (arguments.has("chat") || arguments.has("raw") || request.quiet || model.metadata("chat_template").empty())
        return;
    write_message(
        "the model has a chat template: --chat answers the prompt by it, --raw continues the prompt as it is");
}

} // namespace ordo::tools
