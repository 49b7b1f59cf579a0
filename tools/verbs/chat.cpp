// SPDX-License-Identifier: MIT
#include "tools/verbs/chat.h"

#include "core/error.h"
#include "model/model_access.h"

namespace ordo::tools {

Chat::Chat(ChatTemplate form, std::string system) : form_(std::move(form)), system_(std::move(system)) {
    begin_anew();
}

bool Chat::take_back_answer() {
    if (!messages_.empty() && messages_.back().role == "assistant") messages_.pop_back();
    return !messages_.empty() && messages_.back().role == "user";
}

void Chat::begin_anew() {
    messages_.clear();
    if (!system_.empty()) messages_.push_back({"system", system_});
}

namespace chat_file {

ChatTemplate known_form(const std::string& chat_template, const std::string& where) {
    try {
        return read_chat(chat_template, where);
    } catch (const Error& error) {
        fail(error.code, error.what(), "; --raw continues a prompt as it is");
    }
}

// The given system prompt, or the template's own.
std::string system_prompt(const Arguments& arguments, const ChatTemplate& form, const std::string& chat_template,
                          bool quiet) {
    using System = ChatTemplate::System;
    if (arguments.has("system")) {
        std::string given = arguments.text("system");
        if (given.empty() || form.system == System::written) return given;
        if (form.system == System::refused)
            fail(ErrorCode::usage,
                 "option --system: expected none, since the model's chat template refuses a system message; "
                 "put it into the prompt");
        if (!quiet) write_message("warning: option --system changes nothing: the model's chat template drops it");
        return {};
    }
    DefaultSystem own = default_system(form, chat_template);
    if (!own.text.empty() && !quiet)
        write_message("system prompt of the model's template: \"" + printable(own.text, 200) +
                      "\"; --system gives another, or \"\" none");
    if (own.unread && !quiet)
        write_message("the model's template has a system prompt of its own, which is not used: it takes more than "
                      "reading; --system gives one");
    return std::move(own.text);
}

} // namespace chat_file

std::optional<Chat> begin_chat(const Arguments& arguments, const Model& model, GenerateRequest& request) {
    const std::string chat_template = model.metadata("chat_template");
    if (!arguments.has("chat")) return {};
    const std::string& where = where_of(model);
    if (chat_template.empty())
        fail(ErrorCode::usage, "option --chat: expected a model with a chat template, found none in ", where);
    ChatTemplate form = chat_file::known_form(chat_template, where);
    const std::string end(end_of_message(form.form));
    const Token token = tokenizer_of(model) ? tokenizer_of(model)->find(end) : -1;
    if (token >= 0)
        request.options.also_end = {token};
    else
        request.options.stop.push_back(end);
    request.options.special = true;
    request.show_prompt = false;
    std::string system = chat_file::system_prompt(arguments, form, chat_template, request.quiet);
    return Chat(std::move(form), std::move(system));
}

void note_chat(const Arguments& arguments, const Model& model, const GenerateRequest& request) {
    if (arguments.has("chat") || arguments.has("raw") || request.quiet || model.metadata("chat_template").empty())
        return;
    write_message(
        "the model has a chat template: --chat answers the prompt by it, --raw continues the prompt as it is");
}

} // namespace ordo::tools
