// SPDX-License-Identifier: MIT
// A chat template, followed by messages after a byte 30 each; the first letter of a message is its role. The result is
// an Error of one line, or a text of bounded size.
#include "text/chat_template.h"

#include <algorithm>
#include <cstdlib>

namespace {

using namespace ordo;

void require(bool holds) {
    if (!holds) std::abort();
}

std::vector<ChatMessage> messages_of(std::string_view text) {
    std::vector<ChatMessage> messages;
    while (!text.empty()) {
        const std::string_view message = text.substr(0, text.find(char{30}));
        text.remove_prefix(std::min(text.size(), message.size() + 1));
        const char role = message.empty() ? 'x' : message[0];
        messages.push_back({role == 's'   ? "system"
                            : role == 'u' ? "user"
                            : role == 'a' ? "assistant"
                                          : "x",
                            std::string(message.substr(std::min<std::size_t>(1, message.size())))});
    }
    return messages;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view all(reinterpret_cast<const char*>(data), size);
    const std::string text(all.substr(0, all.find(char{30})));
    try {
        const ChatTemplate chat(text, {{"bos_token", "<s>"}, {"eos_token", "</s>"}}, "fuzz");
        require(chat.end_of_answer().size() < (std::size_t{1} << 28));
        const auto messages = messages_of(all.substr(std::min(all.size(), text.size() + 1)));
        for (const bool answer : {false, true})
            require(chat.write(messages, answer, 1'000'000'000).size() < (std::size_t{1} << 28));
    } catch (const Error& error) {
        const std::string_view what = error.what();
        require(error.code == ErrorCode::model || error.code == ErrorCode::usage);
        require(what.size() < 1000 && what.find('\n') == what.npos);
    }
    return 0;
}
