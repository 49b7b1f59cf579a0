// SPDX-License-Identifier: MIT
#include "text/added_tokens.h"

#include <algorithm>

namespace ordo {
namespace {

// The byte of a token at a depth; -1, before all others, where it has ended.
int byte_at(const AddedToken& token, std::size_t depth) {
    return depth < token.content.size() ? static_cast<unsigned char>(token.content[depth]) : -1;
}

} // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
    std::sort(tokens_.begin(), tokens_.end(), [](const auto& a, const auto& b) { return a.content < b.content; });
    for (const AddedToken& token : tokens_) starts_[static_cast<unsigned char>(token.content.front())] = true;
}

const AddedToken* AddedTokens::find(std::string_view content) const {
    const auto at = std::lower_bound(tokens_.begin(), tokens_.end(), content,
                                     [](const AddedToken& token, std::string_view key) { return token.content < key; });
    return at != tokens_.end() && at->content == content ? &*at : nullptr;
}

const AddedToken* AddedTokens::longest_at(std::string_view text, bool special, bool normalized) const {
    if (!starts_[static_cast<unsigned char>(text.front())]) return nullptr;
    // [first, last) are the tokens that agree with text so far: sorted, so each step narrows a range.
    auto first = tokens_.begin();
    auto last = tokens_.end();
    const AddedToken* longest = nullptr;
    for (std::size_t depth = 0; first != last; ++depth) {
        if (byte_at(*first, depth) < 0) { // contents differ, so only one of the range can end here
            if (first->normalized == normalized && (special || !first->special)) longest = &*first;
            ++first;
        }
        if (depth == text.size()) break;
        const int byte = static_cast<unsigned char>(text[depth]);
        first = std::partition_point(first, last, [&](const AddedToken& t) { return byte_at(t, depth) < byte; });
        last = std::partition_point(first, last, [&](const AddedToken& t) { return byte_at(t, depth) == byte; });
    }
    return longest;
}

void AddedTokens::split_pass(std::string_view text, bool special, bool normalized,
                             const std::function<void(std::string_view)>& on_text,
                             const std::function<void(Token)>& on_token) const {
    std::size_t begin = 0;
    for (std::size_t i = 0; i < text.size();) {
        const AddedToken* token = longest_at(text.substr(i), special, normalized);
        if (token == nullptr) {
            ++i;
            continue;
        }
        if (i > begin) on_text(text.substr(begin, i - begin));
        on_token(token->id);
        i += token->content.size();
        begin = i;
    }
    if (begin < text.size()) on_text(text.substr(begin));
}

void AddedTokens::split(std::string_view text, bool special, const std::function<void(std::string_view)>& on_text,
                        const std::function<void(Token)>& on_token) const {
    split_pass(
        text, special, false, [&](std::string_view rest) { split_pass(rest, special, true, on_text, on_token); },
        on_token);
}

} // namespace ordo
